/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/worker.h"

#include <errno.h>
#include <string.h>

#include "host/child.h"
#include "host/worker-document.h"
#include "host/worker-private.h"
#include "util/text.h"

#define MOVE_OUTPUT_MAX 65536U
#define INSPECT_OUTPUT_MAX 1048576U

/* "--" ends the options: an override that another tool set may begin with a dash. */
int worker_arguments_begin(const WorkerConfig *config, const char *verb, char ***ret)
{
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = strv_append(&argv, config->program);
	if (r >= 0)
		r = strv_appendf(&argv, "--sysfs=%s", config->sysfs_dir);
	if (r >= 0)
		r = strv_appendf(&argv, "--proc=%s", config->proc_dir);
	if (r >= 0)
		r = strv_append(&argv, verb);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(argv);
	return 0;
}

static int move_arguments(const WorkerConfig *config, const DriverTarget *target, char ***ret)
{
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = worker_arguments_begin(config, "move", &argv);
	if (r >= 0)
		r = strv_append(&argv, "--");
	if (r >= 0)
		r = strv_append(&argv, BDF_TEXT(&target->bdf));
	if (r >= 0)
		r = strv_append(&argv, target->driver ? target->driver : "-");
	if (r >= 0)
		r = strv_append(&argv, target->driver_override ? target->driver_override : "-");
	if (r < 0)
		return r;
	*ret = TAKE_PTR(argv);
	return 0;
}

static int inspect_arguments(const WorkerConfig *config, const Bdf *functions, size_t n,
			     bool capabilities, char ***ret)
{
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = worker_arguments_begin(config, "inspect", &argv);
	if (r >= 0 && capabilities)
		r = strv_append(&argv, "--capabilities");
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = strv_append(&argv, BDF_TEXT(&functions[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(argv);
	return 0;
}

/* Why there is no answer to parse; 0 when there is one. */
int worker_child_error(const Child *child)
{
	if (child->running)
		return -ETIMEDOUT;
	if (child->error == -ENOMEM)
		return child->error;
	if (child->error < 0)
		return -EBADMSG; /* more than any answer has, or unreadable */
	/* A status that nobody could tell is not held against it. */
	if (child->signal != 0 || child->status > 0)
		return -EPROTO;
	return child->output ? 0 : -EBADMSG;
}

static void fill_outcome(const Child *child, const DriverTarget *target, MoveOutcome *outcome)
{
	int r = worker_child_error(child);

	if (r == 0)
		r = worker_move_document_parse(child->output, child->size, &target->bdf,
					       &outcome->result);
	if (r == 0)
		return;
	outcome->result.error = r;
	outcome->result.phase = DRIVER_PHASE_UNBIND;
	outcome->result.changed = true;
	outcome->still_running = child->running;
	outcome->pid = child->pid;
	outcome->signal = r == -EPROTO ? child->signal : 0;
}

/* None is started after one that could not be: a half-moved group only has to be moved back. */
static void start_moves(const WorkerConfig *config, const DriverTarget *targets, Children *children,
			MoveOutcome *outcomes)
{
	int r = 0;

	for (size_t i = 0; i < children->n_items; i++) {
		_cleanup_strv_ char **argv = NULL;

		if (r == 0 && ((targets[i].driver && !driver_name_valid(targets[i].driver)) ||
			       (targets[i].driver_override &&
				!driver_override_valid(targets[i].driver_override))))
			r = -EINVAL;
		if (r == 0)
			r = move_arguments(config, &targets[i], &argv);
		if (r == 0)
			r = children_start(children, i, argv);
		outcomes[i].result.error = r;
		if (r < 0)
			r = -ECANCELED;
	}
}

int worker_move(const WorkerConfig *config, const DriverTarget *targets, size_t n,
		uint64_t timeout_usec, MoveOutcome *ret_outcomes)
{
	_cleanup_(children_freep) Children *children = NULL;
	int r;

	for (size_t i = 0; i < n; i++)
		ret_outcomes[i] = (MoveOutcome){ .result.error = -ENOMEM };
	r = children_new(n, MOVE_OUTPUT_MAX, &children);
	if (r < 0)
		return r;
	start_moves(config, targets, children, ret_outcomes);
	children_wait(children, timeout_usec);
	for (size_t i = 0; i < n; i++)
		if (children->items[i].pid != 0)
			fill_outcome(&children->items[i], &targets[i], &ret_outcomes[i]);
	for (size_t i = 0; i < n; i++)
		if (ret_outcomes[i].result.error < 0)
			return ret_outcomes[i].result.error;
	return 0;
}

static int reset_arguments(const WorkerConfig *config, const ResetTarget *target, char ***ret)
{
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = worker_arguments_begin(config, "reset", &argv);
	if (r >= 0 && target->slot)
		r = strv_append(&argv, "--slot");
	if (r >= 0)
		r = strv_append(&argv, BDF_TEXT(&target->bdf));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(argv);
	return 0;
}

static void fill_reset_outcome(const Child *child, ResetOutcome *outcome)
{
	Bdf bdf = outcome->report.bdf;
	int r = worker_child_error(child);

	if (r == 0)
		r = worker_reset_document_parse(child->output, child->size, &bdf, &outcome->report);
	outcome->report.error = r == 0 ? outcome->report.error : r;
	if (r == 0)
		return;
	outcome->still_running = child->running;
	outcome->pid = child->pid;
}

static int start_reset(const WorkerConfig *config, const ResetTarget *target, Children *children,
		       size_t i)
{
	_cleanup_strv_ char **argv = NULL;
	int r = reset_arguments(config, target, &argv);

	return r < 0 ? r : children_start(children, i, argv);
}

int worker_reset(const WorkerConfig *config, const ResetTarget *targets, size_t n,
		 uint64_t timeout_usec, ResetOutcome *ret_outcomes)
{
	_cleanup_(children_freep) Children *children = NULL;
	int r;

	for (size_t i = 0; i < n; i++)
		ret_outcomes[i] = (ResetOutcome){
			.report = {
				.bdf = targets[i].bdf,
				.result = RESET_UNKNOWN,
				.error = -ENOMEM,
			},
		};
	r = children_new(n, MOVE_OUTPUT_MAX, &children);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		ret_outcomes[i].report.error = start_reset(config, &targets[i], children, i);
	children_wait(children, timeout_usec);
	for (size_t i = 0; i < n; i++)
		if (children->items[i].pid != 0)
			fill_reset_outcome(&children->items[i], &ret_outcomes[i]);
	for (size_t i = 0; i < n; i++)
		if (ret_outcomes[i].report.result == RESET_UNKNOWN)
			return ret_outcomes[i].report.error;
	return 0;
}

int worker_inspect(const WorkerConfig *config, const Bdf *functions, size_t n, bool capabilities,
		   uint64_t timeout_usec, Inspection **ret)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = inspect_arguments(config, functions, n, capabilities, &argv);
	if (r < 0)
		return r;
	r = children_new(1, INSPECT_OUTPUT_MAX, &children);
	if (r < 0)
		return r;
	r = children_start(children, 0, argv);
	if (r < 0)
		return r;
	children_wait(children, timeout_usec);
	r = worker_child_error(&children->items[0]);
	if (r < 0)
		return r;
	return worker_inspect_document_parse(children->items[0].output, children->items[0].size,
					     functions, n, ret);
}

bool worker_running(pid_t pid)
{
	return child_runs(pid);
}

void move_outcome_clear(MoveOutcome *outcome)
{
	driver_result_clear(&outcome->result);
	*outcome = (MoveOutcome){ 0 };
}

void reset_outcome_clear(ResetOutcome *outcome)
{
	reset_report_clear(&outcome->report);
	*outcome = (ResetOutcome){ 0 };
}
