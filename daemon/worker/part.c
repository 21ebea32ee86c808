/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/part.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gpupass/errors.h"
#include "host/wire/request.h"
#include "util/pid-lock.h"
#include "util/text.h"
#include "worker/read-only.h"
#include "worker/run.h"

static int fail(const char *what, int error)
{
	fprintf(stderr, "gpupass-worker: %s: %s\n", what, strerror(-error));
	return GPUPASS_EXIT_FAILED;
}

static bool inspects(const WorkerCommand *c)
{
	return c->verb == WORKER_INSPECT && !c->capabilities;
}

static bool reads_config(const WorkerCommand *c)
{
	return c->verb == WORKER_CONFIG || (c->verb == WORKER_EXAMINE && c->n_functions > 0) ||
	       (c->verb == WORKER_PROBE && c->mmio) || c->verb == WORKER_MEMORY;
}

static bool asks_nvml(const WorkerCommand *c)
{
	return (c->verb == WORKER_PROBE && !c->mmio) ||
	       (c->verb == WORKER_PERSISTENCE && !c->set_to);
}

static bool sets_persistence(const WorkerCommand *c)
{
	return c->verb == WORKER_PERSISTENCE && c->set_to;
}

static bool examines_setup(const WorkerCommand *c)
{
	return c->verb == WORKER_EXAMINE && c->without_image;
}

static bool reads_image(const WorkerCommand *c)
{
	return c->verb == WORKER_IMAGE;
}

static bool follows_uevents(const WorkerCommand *c)
{
	return c->verb == WORKER_UEVENTS;
}

/* NVIDIA's library opens its devices for writing. */
static const struct {
	const char *name;
	bool (*does)(const WorkerCommand *command);
	bool writes;
} parts[] = {
	{ "inspector", inspects, false },      { "config", reads_config, false },
	{ "examiner", examines_setup, false }, { "initramfs", reads_image, false },
	{ "prober", asks_nvml, true },	       { "persistence", sets_persistence, true },
	{ "uevents", follows_uevents, false },
};

/* Whoever asks may not choose another tree, nor a library. */
static bool is_of_this_host(const WorkerCommand *c)
{
	return strcmp(c->sysfs_dir, "/sys") == 0 && strcmp(c->proc_dir, "/proc") == 0 &&
	       strcmp(c->root_dir, "/") == 0 && !c->nvml && !c->persistenced;
}

static int find_part(const char *name, size_t *ret)
{
	for (size_t i = 0; i < ELEMENTS(parts); i++)
		if (strcmp(parts[i].name, name) == 0) {
			*ret = i;
			return 0;
		}
	return -ENOENT;
}

/*
 * What asks NVML is found by its lock. A second one would only wait beside it, so that there is
 * none.
 */
static int take_lock(const WorkerCommand *command, int *ret_fd)
{
	if (sets_persistence(command))
		return pid_lock_take(PARTS_LOCKS_DIR, BDF_TEXT(&command->functions[0]), ret_fd);
	if (!asks_nvml(command))
		return 0;
	return pid_lock_take(PARTS_LOCKS_DIR,
			     command->verb == WORKER_PROBE ? WORKER_LOCK_PROBE
							   : WORKER_LOCK_PERSISTENCE,
			     ret_fd);
}

static int run(size_t part, int argc, char **argv)
{
	_cleanup_(worker_command_clear) WorkerCommand command = { 0 };
	_cleanup_close_ int lock_fd = -1;
	int status, r;

	if (!worker_command_parse(argc, argv, &command, &status))
		return status;
	if (!is_of_this_host(&command) || !parts[part].does(&command))
		return fail("not this part's business", -EPERM);
	request_begin(STDOUT_FILENO);
	r = take_lock(&command, &lock_fd);
	if (r < 0)
		return fail("another one is at work", r);
	status = worker_command_run(&command, NULL);
	/* systemd has this connection open, too, until it has seen the end of this process. */
	shutdown(STDOUT_FILENO, SHUT_WR);
	return status;
}

/* A process of the same user that has as many rights or more may look into one that is dumpable. */
static int confine(size_t part)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return parts[part].writes ? 0 : become_read_only();
}

int part_run(const char *name)
{
	_cleanup_strv_ char **words = NULL, **argv = NULL;
	size_t part = 0;
	int r = find_part(name, &part);

	if (r < 0)
		return fail("no such part", r);
	r = confine(part);
	if (r >= 0)
		r = request_read(STDIN_FILENO, &words);
	if (r >= 0)
		r = strv_append(&argv, "gpupass-worker");
	for (char **word = words; r >= 0 && word && *word; word++)
		r = strv_append(&argv, *word);
	if (r < 0)
		return fail("no request", r);
	return run(part, (int)strv_length(argv), argv);
}
