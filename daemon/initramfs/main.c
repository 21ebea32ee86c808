/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-initramfs: looks into the initramfs of the running kernel, which libarchive unpacks. A
 * program of its own, because libarchive brings a dozen libraries along, which nothing else that
 * the daemon asks should load or contain.
 */
#include <fcntl.h>
#include <signal.h>

#include "gpupass/errors.h"
#include "host/image/initramfs-image.h"
#include "host/wire/request.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"
#include "worker/part.h"

#define VERB "image"
#define CMDLINE_MAX 65536

typedef struct Command {
	const char *proc_dir, *root_dir, *part;
	const char *known_image; /* key of the image that need not be read again; NULL: none */
} Command;

static const char usage[] =
	"Usage: gpupass-initramfs [OPTION]... image\n"
	"       gpupass-initramfs --part=initramfs\n"
	"\n"
	"Looks into the initramfs of the running kernel, for gpupassd(8), and writes one JSON\n"
	"document to standard output. With --part it reads \"image\" and options from its\n"
	"standard input, and looks at this host only.\n"
	"\n"
	"      --proc=DIR      procfs (default /proc)\n"
	"      --root=DIR      where boot is (default /)\n"
	"      --sysfs=DIR     is not needed\n"
	"      --known-image=KEY\n"
	"                      the image that need not be read again\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

static const Program program = { "gpupass-initramfs", usage, GPUPASS_VERSION };

/* false with *ret_status where there is nothing to do. */
static bool parse(int argc, char **argv, Command *ret, int *ret_status)
{
	const char *sysfs_dir = NULL; /* all children of the daemon get one */
	const Argument known[] = {
		{ "proc", .text = &ret->proc_dir },
		{ "root", .text = &ret->root_dir },
		{ "sysfs", .text = &sysfs_dir },
		{ "part", .text = &ret->part },
		{ "known-image", .text = &ret->known_image },
	};
	int first;

	*ret = (Command){ .proc_dir = "/proc", .root_dir = "/" };
	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, ret_status))
		return false;
	if (ret->part && first == argc)
		return true;
	if (!ret->part && first + 1 == argc && strcmp(argv[first], VERB) == 0)
		return true;
	*ret_status = arguments_refuse(&program, "it takes one word, which is: " VERB, NULL);
	return false;
}

/* That of the running kernel, which boots with it again unless another kernel is chosen. */
static int read_image(const Command *command, Examination *e)
{
	static const InitramfsLimits limits = INITRAMFS_LIMITS_DEFAULT;
	_cleanup_close_ int proc_fd = -1, root_fd = -1;
	_cleanup_free_ char *release = NULL, *cmdline = NULL;
	int r = dir_open_at(AT_FDCWD, command->proc_dir, false, &proc_fd);

	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->root_dir, false, &root_fd);
	if (r < 0)
		return r;
	if (file_read_line_at(proc_fd, "sys/kernel/osrelease", &release) < 0)
		return 0;
	(void)file_read_at(proc_fd, "cmdline", CMDLINE_MAX, &cmdline, NULL);
	e->image = initramfs_image_read(root_fd, &(BootedKernel){ release, cmdline },
					command->known_image, &limits);
	return 0;
}

static int answer(const Command *command)
{
	_cleanup_(examination_freep) Examination *e = xcalloc(1, sizeof(*e));
	_cleanup_free_ char *text = NULL;
	int r = read_image(command, e);

	text = answer_text(question(ASK_IMAGE),
			   &(HostAnswer){ .head.error = r, .host = r < 0 ? NULL : e });
	if (puts(text) == EOF || fflush(stdout) == EOF)
		return program_fail(&program, "nobody waits any more for the answer", -errno);
	return GPUPASS_EXIT_DONE;
}

/* Whoever asks may not choose another tree. */
static bool is_of_this_host(const Command *command)
{
	return strcmp(command->proc_dir, "/proc") == 0 && strcmp(command->root_dir, "/") == 0;
}

static int serve(_unused_ const Part *part, int argc, char **argv)
{
	Command command;
	int status, r;

	if (!parse(argc, argv, &command, &status))
		return status;
	if (command.part || !is_of_this_host(&command))
		return program_fail(&program, "not this part's business", -EPERM);
	r = request_begin(STDOUT_FILENO);
	return r < 0 ? program_fail(&program, "whoever asked has gone", r) : answer(&command);
}

static int be_part(const char *name)
{
	static const Part here = { .name = PART_INITRAMFS, .serves = 1 };

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
