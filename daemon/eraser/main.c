/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-eraser: asks an NVMe controller what it says of itself, and erases it. A program of its
 * own, because libnvme brings libraries along, and because nothing else has this right.
 */
#include <fcntl.h>

#include "host/nvme/erase.h"
#include "host/wire/request.h"
#include "util/file.h"
#include "util/grow.h"
#include "worker/command.h"

static const char usage[] =
	"Usage: gpupass-eraser [OPTION]... nvme-state BDF\n"
	"       gpupass-eraser [OPTION]... erase --way=WAY --serial=TEXT BDF\n"
	"       gpupass-eraser --part=eraser\n"
	"\n"
	"Asks an NVMe controller what it says of itself, or erases all that is on it, for\n"
	"gpupassd(8), and writes one JSON document to standard output. With --part it reads the\n"
	"verb and what follows from its standard input, and works on this host only.\n"
	"\n"
	"      --way=WAY       sanitize-crypto, sanitize-block, format-crypto or format-user\n"
	"      --serial=TEXT   its serial number: another one is not erased\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --root=DIR      where dev is (default /)\n"
	"      --proc=DIR      is not needed\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

const Program worker_program = { "gpupass-eraser", usage, GPUPASS_VERSION };

static int answer(const WorkerCommand *command, void *ret)
{
	_cleanup_close_ int sysfs_fd = -1, root_fd = -1;
	NvmeAnswer *answer = ret;
	NvmeState state = { 0 };
	NvmeErase erase = { 0 };
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);
	Roots roots;

	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->root_dir, false, &root_fd);
	roots = (Roots){ sysfs_fd, -1, root_fd, -1 };
	if (r >= 0 && question_id(command->question) == ASK_ERASE) {
		r = nvme_erase_begin(&roots, &nvme_opens, command->functions, command->way,
				     command->serial, &erase);
		if (r >= 0)
			*GROW(answer->erases, answer->n_erases) = erase;
	} else if (r >= 0) {
		r = nvme_state_read(&roots, &nvme_opens, command->functions, &state);
		if (r >= 0)
			*GROW(answer->states, answer->n_states) = state;
	}
	answer->head.error = r < 0 ? r : 0;
	return 0;
}

int worker_command_run(const WorkerCommand *command)
{
	bool ours = strcmp(command->question->part, PART_ERASER) == 0;

	return worker_answer(command, ours ? answer : NULL);
}

static const Part *find_part(const char *name)
{
	/* It opens its lock for writing, and nothing else. */
	static const Part here = { .name = PART_ERASER, .serves = 1, .writes = true };

	return strcmp(name, here.name) == 0 ? &here : NULL;
}

int main(int argc, char **argv)
{
	return worker_main(argc, argv, find_part);
}
