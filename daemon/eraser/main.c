/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-eraser: asks an NVMe controller what it says of itself, and erases it. A program of its
 * own, because libnvme brings libraries along, and because nothing else has this right.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpupass/errors.h"
#include "host/nvme/erase.h"
#include "host/wire/question.h"
#include "host/wire/request.h"
#include "util/file.h"
#include "util/json.h"
#include "util/pid-lock.h"
#include "util/text.h"
#include "util/xalloc.h"
#include "worker/part.h"

typedef struct Command {
	const char *sysfs_dir, *root_dir, *part;
	const Question *question;
	Bdf bdf;
	NvmeWay way; /* ASK_ERASE */
} Command;

static const char usage[] =
	"Usage: gpupass-eraser [OPTION]... nvme-state BDF\n"
	"       gpupass-eraser [OPTION]... erase --way=WAY BDF\n"
	"       gpupass-eraser --part=eraser\n"
	"\n"
	"Asks an NVMe controller what it says of itself, or erases all that is on it, for\n"
	"gpupassd(8), and writes one JSON document to standard output. With --part it reads the\n"
	"verb and what follows from its standard input, and works on this host only.\n"
	"\n"
	"      --way=WAY       sanitize-crypto, sanitize-block, format-crypto or format-user\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --root=DIR      where dev is (default /)\n"
	"      --proc=DIR      is not needed\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

static const Program program = { "gpupass-eraser", usage, GPUPASS_VERSION };

static int complain(const char *what, const char *argument)
{
	return arguments_refuse(&program, what, argument);
}

static int parse_question(char **words, size_t n, const char *way, Command *command)
{
	const Question *q = n > 0 ? question_find(words[0], NULL) : NULL;

	if (!q || strcmp(q->part, PART_ERASER) != 0)
		return complain("no such question", n > 0 ? words[0] : NULL);
	if (n != 2 || bdf_parse(words[1], &command->bdf) < 0)
		return complain("it takes one PCI address", NULL);
	if ((way != NULL) != (question_id(q) == ASK_ERASE))
		return complain("--way is for erase, and must be there", NULL);
	if (way && (nvme_way_from_string(way, &command->way) < 0 || command->way == NVME_WAY_NONE))
		return complain("not a way of erasing", way);
	command->question = q;
	return GPUPASS_EXIT_DONE;
}

/* false with *ret_status where there is nothing to do. */
static bool parse(int argc, char **argv, Command *ret, int *ret_status)
{
	const char *proc_dir = NULL; /* all children of the daemon get one */
	const char *way = NULL;
	const Argument known[] = {
		{ "sysfs", .text = &ret->sysfs_dir },
		{ "proc", .text = &proc_dir },
		{ "root", .text = &ret->root_dir },
		{ "part", .text = &ret->part },
		{ "way", .text = &way },
	};
	int first;

	*ret = (Command){ .sysfs_dir = "/sys", .root_dir = "/" };
	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, ret_status))
		return false;
	if (ret->part && first == argc && !way)
		return true;
	*ret_status = ret->part ? complain("a part reads what it is to do", NULL)
				: parse_question(argv + first, (size_t)(argc - first), way, ret);
	return *ret_status == GPUPASS_EXIT_DONE;
}

static int work(const Command *command, NvmeAnswer *answer)
{
	_cleanup_close_ int sysfs_fd = -1, root_fd = -1;
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);
	Roots roots;

	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->root_dir, false, &root_fd);
	if (r < 0)
		return r;
	roots = (Roots){ sysfs_fd, -1, root_fd, -1 };
	if (question_id(command->question) == ASK_ERASE) {
		answer->erases = xcalloc(1, sizeof(NvmeErase));
		r = nvme_erase_begin(&roots, &nvme_opens, &command->bdf, command->way,
				     answer->erases);
		answer->n_erases = r >= 0;
	} else {
		answer->states = xcalloc(1, sizeof(NvmeState));
		r = nvme_state_read(&roots, &nvme_opens, &command->bdf, answer->states);
		answer->n_states = r >= 0;
	}
	return r;
}

static int answer(const Command *command)
{
	NvmeAnswer it = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = work(command, &it);

	it.head.error = r < 0 ? r : 0;
	text = answer_text(command->question, &it);
	free(it.n_erases == 0 ? TAKE_PTR(it.erases) : NULL);
	free(it.n_states == 0 ? TAKE_PTR(it.states) : NULL);
	answer_clear(command->question, &it);
	if (puts(text) != EOF && fflush(stdout) != EOF)
		return GPUPASS_EXIT_DONE;
	/* What was done should be known. */
	fprintf(stderr, "gpupass-eraser: nobody waits any more for this answer: %s\n", text);
	return GPUPASS_EXIT_DONE;
}

/* Whoever asks may not choose another tree. */
static bool is_of_this_host(const Command *command)
{
	return strcmp(command->sysfs_dir, "/sys") == 0 && strcmp(command->root_dir, "/") == 0;
}

static int serve(_unused_ const Part *part, int argc, char **argv)
{
	_cleanup_close_ int lock_fd = -1;
	char text[BDF_TEXT_MAX];
	const char *name;
	Command command;
	int status, r;

	if (!parse(argc, argv, &command, &status))
		return status;
	if (command.part || !is_of_this_host(&command))
		return program_fail(&program, "not this part's business", -EPERM);
	r = request_begin(STDOUT_FILENO);
	if (r < 0)
		return program_fail(&program, "whoever asked has gone", r);
	name = question_lock_name(command.question->lock, &command.bdf, text);
	r = name ? pid_lock_take(PARTS_LOCKS_DIR, name, &lock_fd) : 0;
	return r < 0 ? program_fail(&program, "another one is at work", r) : answer(&command);
}

static int be_part(const char *name)
{
	/* It opens its lock for writing, and nothing else. */
	static const Part here = { .name = PART_ERASER, .serves = 1, .writes = true };

	return strcmp(name, here.name) == 0 ? part_serve(&program, &here, serve)
					    : program_fail(&program, "no such part", -ENOENT);
}

int main(int argc, char **argv)
{
	Command command;
	int status;

	json_use_xalloc();
	/* If nobody reads the answer, the write must fail instead of killing this process. */
	signal(SIGPIPE, SIG_IGN);
	if (!parse(argc, argv, &command, &status))
		return status;
	return command.part ? be_part(command.part) : answer(&command);
}
