/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-worker: does one thing that may never return (unbind a driver, wait for a device), so
 * that gpupassd need not. host/wire/question.h has the protocol.
 */
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "gpupass/cleanup.h"
#include "util/json.h"
#include "util/text.h"
#include "worker/part.h"
#include "worker/run.h"

#define PART_OPTION "--part="

/*
 * A worker may stay for ever, with every file that it has. If a library of the caller opened one
 * without O_CLOEXEC, the worker would keep a socket or a lock alive.
 */
static void close_inherited_files(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		unsigned long long fd;

		if (str_to_unsigned(entry->d_name, 10, INT_MAX, &fd) < 0)
			continue;
		if (fd > STDERR_FILENO && (int)fd != dirfd(dir))
			close((int)fd);
	}
}

int main(int argc, char **argv)
{
	_cleanup_(worker_command_clear) WorkerCommand command = { 0 };
	int status;

	json_use_xalloc();
	close_inherited_files();
	/* If nobody reads the answer, the write must fail instead of killing the worker. */
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && str_starts_with(argv[1], PART_OPTION))
		return part_run(argv[1] + strlen(PART_OPTION));
	if (!worker_command_parse(argc, argv, &command, &status))
		return status;
	return worker_command_run(&command);
}
