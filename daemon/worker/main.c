/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-worker: does one thing that may never return (unbind a driver, wait for a device), so
 * that gpupassd need not. host/wire/question.h has the protocol.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gpupass/cleanup.h"
#include "gpupass/errors.h"
#include "host/wire/request.h"
#include "util/json.h"
#include "util/pid-lock.h"
#include "util/text.h"
#include "worker/command.h"
#include "worker/read-only.h"

#define PART_OPTION "--part="

/*
 * ---- as a part ----
 * One of the daemon's parts (host/launch/part.h): a request on stdin, its answer on stdout, which
 * are the same connection. Some serve more than one request, one after another. A part does only
 * what it is there for, and on this host only.
 */

static int fail(const char *what, int error)
{
	fprintf(stderr, "gpupass-worker: %s: %s\n", what, strerror(-error));
	return GPUPASS_EXIT_FAILED;
}

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

static int run(const Part *part, int argc, char **argv)
{
	_cleanup_(worker_command_clear) WorkerCommand command = { 0 };
	_cleanup_close_ int lock_fd = -1;
	int status, r;

	if (!worker_command_parse(argc, argv, &command, &status))
		return status;
	if (!is_of_this_host(&command) || strcmp(command.question->part, part->name) != 0)
		return fail("not this part's business", -EPERM);
	r = request_begin(STDOUT_FILENO);
	if (r < 0)
		return fail("whoever asked has gone", r);
	r = take_lock(&command, &lock_fd);
	if (r < 0)
		return fail("another one is at work", r);
	return worker_command_run(&command);
}

static int serve(const Part *part, char *const *words)
{
	_cleanup_strv_ char **argv = NULL;
	int status;

	strv_append(&argv, "gpupass-worker");
	strv_copy(words, &argv);
	alarm(part->limit_sec);
	status = run(part, (int)strv_length(argv), argv);
	alarm(0);
	return status;
}

/* A process of the same user that has as many rights or more may look into one that is dumpable. */
static int confine(const Part *part)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return part->writes ? 0 : become_read_only();
}

/* 1 with the request; 0 when nobody has one for it. */
static int next_request(const Part *part, char ***ret)
{
	int r = part->ready > 0 ? request_next(STDIN_FILENO, -1, ret)
				: request_read(STDIN_FILENO, ret);

	return r >= 0 && part->ready == 0 ? 1 : r;
}

static int part_run(const char *name)
{
	const Part *part = strcmp(name, PART_MOVER) != 0 ? part_find(name) : NULL;
	int status = GPUPASS_EXIT_DONE, r = part ? confine(part) : -ENOENT;

	if (r < 0)
		return fail(part ? "cannot confine itself" : "no such part", r);
	do {
		_cleanup_strv_ char **words = NULL;

		r = next_request(part, &words);
		if (r < 0)
			return fail("no request", r);
		if (r > 0)
			status = serve(part, words);
	} while (r > 0 && part->serves > 1 && status == GPUPASS_EXIT_DONE);
	/* systemd has this connection open, too, until it has seen the end of this process. */
	shutdown(STDOUT_FILENO, SHUT_WR);
	return status;
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
