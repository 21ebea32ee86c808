/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/launch.h"

#include <string.h>

#include "host/launch/worker-find.h"
#include "util/clock.h"
#include "util/text.h"

/* The limit for getting access to the bus; nothing was requested of anybody before that. */
#define CONNECT_TIMEOUT_USEC (5 * USEC_PER_SEC)
/* systemd takes seconds to reload all its units, and answers no calls meanwhile. */
#define START_TIMEOUT_USEC (25 * USEC_PER_SEC)
/* systemd forgets a unit a moment after its process has ended. */
#define FORGET_TIMEOUT_USEC (2 * USEC_PER_SEC)
#define FORGET_PAUSE_USEC (10 * USEC_PER_MSEC)

static void fall_back(Launch *launch, const char *why)
{
	const WorkerConfig *config = launch->config;

	launch->units = config->units->close(launch->units);
	if (config->fell_back)
		config->fell_back(why ? why : strerror(ENOMEM), config->userdata);
}

void launch_begin(const WorkerConfig *config, Launch *ret)
{
	_cleanup_free_ char *why = NULL;

	*ret = (Launch){ .config = config };
	if (config->units && config->units->open(CONNECT_TIMEOUT_USEC, &ret->units, &why) < 0)
		fall_back(ret, why);
}

void launch_end(Launch *launch)
{
	if (launch->units)
		launch->units = launch->config->units->close(launch->units);
}

/*
 * systemd-shutdown waits for every process except those whose name begins like this (systemd.io,
 * "Storage Daemons for the Root File System"), for twice the time that a service may take to stop.
 * Otherwise a worker that waits in the kernel would keep the host up for 3 minutes.
 */
static int mark_argv(char *const *argv, char ***ret)
{
	_cleanup_strv_ char **marked = NULL;
	int r = strv_appendf(&marked, "@%s", argv[0]);

	for (size_t i = 1; r >= 0 && argv[i]; i++)
		r = strv_append(&marked, argv[i]);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(marked);
	return 0;
}

static int start_or_wait(Launch *launch, const UnitSpec *spec, const Bdf *function, char **ret_why)
{
	uint64_t deadline = now_monotonic() + FORGET_TIMEOUT_USEC;

	for (;;) {
		int r = launch->config->units->start(launch->units, spec, START_TIMEOUT_USEC,
						     ret_why);

		if (r != -EEXIST)
			return r;
		if (worker_find(launch->config, function) > 0 || now_monotonic() >= deadline)
			return -EBUSY;
		usleep(FORGET_PAUSE_USEC);
	}
}

static int start_unit(Launch *launch, Children *children, size_t index, const Bdf *function,
		      const char *description, char *const *argv, char **ret_why)
{
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	_cleanup_free_ char *name = worker_unit_name(function);
	_cleanup_strv_ char **marked = NULL;
	UnitSpec spec;
	int r;

	/* systemd would then close the pipe without an answer. */
	if (access(argv[0], X_OK) < 0)
		return -errno;
	r = name ? mark_argv(argv, &marked) : -ENOMEM;
	if (r >= 0)
		r = children_pipe(&read_fd, &write_fd);
	if (r < 0)
		return r;
	spec = (UnitSpec){
		.name = name,
		.description = description,
		.program = argv[0],
		.argv = marked,
		.output_fd = write_fd,
	};
	r = start_or_wait(launch, &spec, function, ret_why);
	/*
	 * Also when the result is unknown: if the request is gone without a start, the pipe ends.
	 */
	if (r == 0 || r == -ETIMEDOUT)
		children_adopt(children, index, TAKE_FD(read_fd));
	return r;
}

int launch_start(Launch *launch, Children *children, size_t index, const Bdf *function,
		 const char *description, char *const *argv)
{
	_cleanup_free_ char *why = NULL;
	int r;

	if (!launch->units)
		return children_start(children, index, argv);
	if (launch->silent)
		return -ECANCELED;
	r = start_unit(launch, children, index, function, description, argv, &why);
	launch->silent = r == -ETIMEDOUT;
	if (r != -ECONNREFUSED)
		return r;
	fall_back(launch, why);
	return children_start(children, index, argv);
}

pid_t launch_pid(Launch *launch, const Child *child, const Bdf *function)
{
	_cleanup_free_ char *name = NULL;
	pid_t pid = 0;

	if (child->pid > 0)
		return child->pid;
	name = worker_unit_name(function);
	if (launch->units && name)
		pid = launch->config->units->main_pid(launch->units, name);
	return pid > 0 ? pid : worker_find(launch->config, function);
}
