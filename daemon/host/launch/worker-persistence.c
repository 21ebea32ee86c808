/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-persistence.h"

#include <errno.h>
#include <string.h>

#include "host/launch/call.h"
#include "host/launch/launch.h"
#include "host/launch/worker-find.h"
#include "host/wire/persistence.h"
#include "util/text.h"
#include "util/xalloc.h"

#define OUTPUT_MAX 65536U

static char **arguments(const WorkerConfig *config, const Bdf *gpus, size_t n, const char *set)
{
	char **argv = worker_arguments_begin(config, "persistence");

	if (set)
		strv_append(&argv, set);
	for (size_t i = 0; i < n; i++)
		strv_append(&argv, BDF_TEXT(&gpus[i]));
	if (config->nvml)
		strv_appendf(&argv, "--nvml=%s", config->nvml);
	return argv;
}

static char *why_no_answer(int error, uint64_t timeout_usec, pid_t pid)
{
	switch (error) {
	case -ETIMEDOUT:
		return strf("NVML did not answer within %llu s; worker %d still waits for it",
			    (unsigned long long)(timeout_usec / 1000000), (int)pid);
	case -EBUSY:
		/* It was found, and has ended since. */
		if (pid <= 0)
			return xstrdup("a worker that was started earlier still waited for NVML");
		return strf("worker %d, which was started earlier, still waits for NVML", (int)pid);
	case -EPROTO:
		return xstrdup("the worker died before it answered");
	case -EBADMSG:
		return xstrdup("the worker's answer makes no sense");
	default:
		return strf("the worker could not be started: %s", strerror(-error));
	}
}

void persistence_unasked(const Bdf *gpus, size_t n, const char *why, GpuPersistence *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = (GpuPersistence){ .bdf = gpus[i], .why = xstrdup(why) };
}

static int read_all(const WorkerConfig *config, const Bdf *gpus, size_t n, uint64_t timeout_usec,
		    GpuPersistence *ret, pid_t *ret_pid)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = NULL;
	const Child *child;
	int r;

	*ret_pid = worker_find_persistence(config);
	if (*ret_pid > 0)
		return -EBUSY;
	argv = arguments(config, gpus, n, NULL);
	worker_question_begins(config, WORKER_READS_PERSISTENCE);
	r = worker_run_one(config, PART_PROBER, argv, OUTPUT_MAX, timeout_usec, &children);
	worker_question_ends(config, WORKER_READS_PERSISTENCE,
			     r >= 0 && !children->items[0].adopted);
	if (r < 0)
		return r;
	child = &children->items[0];
	*ret_pid = child->running && child->adopted ? worker_find_persistence(config) : child->pid;
	r = worker_child_error(child);
	return r < 0 ? r : persistence_document_parse(child->output, child->size, gpus, n, ret);
}

void worker_persistence(const WorkerConfig *config, const Bdf *gpus, size_t n,
			uint64_t timeout_usec, GpuPersistence *ret)
{
	_cleanup_free_ char *why = NULL;
	pid_t pid = 0;
	int r = read_all(config, gpus, n, timeout_usec, ret, &pid);

	if (r >= 0)
		return;
	why = why_no_answer(r, timeout_usec, pid);
	persistence_unasked(gpus, n, why, ret);
}

/* ---- setting ---- */

static int start(const WorkerConfig *config, Children *children, size_t i, const Bdf *gpu, bool on)
{
	_cleanup_strv_ char **argv = NULL;

	/* The part's lock prevents a second one for a function; nothing prevents a second child. */
	if (worker_find(config, gpu) > 0)
		return -EBUSY;
	argv = arguments(config, gpu, 1, on ? "--set=on" : "--set=off");
	return launch_one(config, PART_PERSISTENCE, children, i, argv);
}

static void fill_outcome(const WorkerConfig *config, const Child *child, int error,
			 uint64_t timeout_usec, PersistenceOutcome *outcome)
{
	Bdf gpu = outcome->gpu.bdf;
	int r = error;

	if (r >= 0)
		r = worker_child_error(child);
	if (r >= 0)
		r = persistence_document_parse(child->output, child->size, &gpu, 1, &outcome->gpu);
	if (r >= 0)
		return;
	if (r == -EBUSY || r == -ETIMEDOUT) {
		outcome->still_running = true;
		outcome->pid =
			r == -EBUSY ? worker_find(config, &gpu) : launch_pid(config, child, &gpu);
	}
	outcome->gpu.why = why_no_answer(r, timeout_usec, outcome->pid);
}

void worker_set_persistence(const WorkerConfig *config, const Bdf *gpus, size_t n, bool on,
			    uint64_t timeout_usec, PersistenceOutcome *ret_outcomes)
{
	_cleanup_free_ int *errors = xcalloc(n + 1, sizeof(int));
	_cleanup_(children_freep) Children *children = children_new(n, OUTPUT_MAX);

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		errors[i] = start(config, children, i, &gpus[i], on);
	launch_wait(config, children, timeout_usec);
	for (size_t i = 0; i < n; i++) {
		ret_outcomes[i] = (PersistenceOutcome){ .gpu = { .bdf = gpus[i] } };
		fill_outcome(config, &children->items[i], errors[i], timeout_usec,
			     &ret_outcomes[i]);
	}
}

void persistence_outcome_clear(PersistenceOutcome *outcome)
{
	gpu_persistence_clear(&outcome->gpu);
	*outcome = (PersistenceOutcome){ 0 };
}

void persistence_unset(const Bdf *gpus, size_t n, const char *why, PersistenceOutcome *ret_outcomes)
{
	for (size_t i = 0; i < n; i++) {
		ret_outcomes[i] = (PersistenceOutcome){ 0 };
		persistence_unasked(&gpus[i], 1, why, &ret_outcomes[i].gpu);
	}
}
