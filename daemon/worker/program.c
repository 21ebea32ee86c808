/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs that answer questions have in common. */
#include <limits.h>
#include <signal.h>

#include "host/wire/request.h"
#include "util/json.h"
#include "util/pid-lock.h"
#include "util/text.h"
#include "worker/command.h"
#include "worker/part.h"

#define PART_OPTION "--part="

/* ---- as a part: what it is there for, and on this host only ---- */

/* Whoever asks may not choose another tree, nor a library. */
static bool is_of_this_host(const WorkerCommand *c)
{
	return strcmp(c->sysfs_dir, "/sys") == 0 && strcmp(c->proc_dir, "/proc") == 0 &&
	       strcmp(c->root_dir, "/") == 0 && !c->nvml;
}

/*
 * What asks NVML is found by its lock. A second one would only wait beside it, so that there is
 * none.
 */
static int take_lock(const WorkerCommand *command, int *ret_fd)
{
	char text[BDF_TEXT_MAX];
	const char *name = question_lock_name(command->question->lock, command->functions, text);

	return name ? pid_lock_take(PARTS_LOCKS_DIR, name, ret_fd) : 0;
}

static int serve(const Part *part, int argc, char **argv)
{
	_cleanup_(worker_command_clear) WorkerCommand command = { 0 };
	_cleanup_close_ int lock_fd = -1;
	int status, r;

	if (!worker_command_parse(argc, argv, &command, &status))
		return status;
	if (!is_of_this_host(&command) || strcmp(command.question->part, part->name) != 0)
		return program_fail(&worker_program, "not this part's business", -EPERM);
	r = request_begin(STDOUT_FILENO);
	if (r < 0)
		return program_fail(&worker_program, "whoever asked has gone", r);
	r = take_lock(&command, &lock_fd);
	if (r < 0)
		return program_fail(&worker_program, "another one is at work", r);
	return worker_command_run(&command);
}

static int be_part(const Part *part)
{
	return part ? part_serve(&worker_program, part, serve)
		    : program_fail(&worker_program, "no such part", -ENOENT);
}

/* ---- for one question ---- */

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

int worker_main(int argc, char **argv, const Part *(*find_part)(const char *name))
{
	_cleanup_(worker_command_clear) WorkerCommand command = { 0 };
	int status;

	json_use_xalloc();
	close_inherited_files();
	/* If nobody reads the answer, the write must fail instead of killing the worker. */
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && str_starts_with(argv[1], PART_OPTION))
		return be_part(find_part(argv[1] + strlen(PART_OPTION)));
	if (!worker_command_parse(argc, argv, &command, &status))
		return status;
	return worker_command_run(&command);
}
