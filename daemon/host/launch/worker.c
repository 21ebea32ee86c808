/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker.h"

#include <errno.h>
#include <string.h>

#include "core/pci/driver-name.h"
#include "host/launch/call.h"
#include "host/launch/launch.h"
#include "host/launch/worker-find.h"
#include "host/wire/document.h"
#include "util/text.h"

#define MOVE_OUTPUT_MAX 65536U
/* There are as many holders as host/device/holders.c lists, with names as long as others like. */
#define INSPECT_OUTPUT_MAX 4194304U

/* "--" ends the options: an override that another tool set may begin with a dash. */
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
			     InspectConfig config_space, char ***ret)
{
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = worker_arguments_begin(config, "inspect", &argv);
	if (r >= 0 && config_space != INSPECT_CONFIG_NOT)
		r = strv_append(&argv, "--capabilities");
	if (r >= 0 && config_space == INSPECT_CONFIG_AWAKE)
		r = strv_append(&argv, "--awake");
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = strv_append(&argv, BDF_TEXT(&functions[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(argv);
	return 0;
}

static void fill_outcome(Launch *launch, const Child *child, const DriverTarget *target,
			 MoveOutcome *outcome)
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
	outcome->pid = child->running ? launch_pid(launch, child, &target->bdf) : child->pid;
	outcome->signal = r == -EPROTO ? child->signal : 0;
}

static int start_move(Launch *launch, Children *children, size_t i, const DriverTarget *target)
{
	_cleanup_free_ char *description = NULL;
	_cleanup_strv_ char **argv = NULL;
	int r;

	if ((target->driver && !driver_name_valid(target->driver)) ||
	    (target->driver_override && !driver_override_valid(target->driver_override)))
		return -EINVAL;
	description = strf("Move %s to %s (gpupass)", BDF_TEXT(&target->bdf),
			   target->driver ? target->driver : "no driver");
	if (!description)
		return -ENOMEM;
	r = move_arguments(launch->config, target, &argv);
	return r < 0 ? r : launch_start(launch, children, i, &target->bdf, description, argv);
}

/* After one that could not start, starts no more: a half-moved group only has to be moved back. */
static void start_moves(Launch *launch, const DriverTarget *targets, Children *children,
			MoveOutcome *outcomes)
{
	int r = 0;

	for (size_t i = 0; i < children->n_items; i++) {
		if (r == 0)
			r = start_move(launch, children, i, &targets[i]);
		outcomes[i].result.error = r;
		outcomes[i].still_running = r == -EBUSY;
		if (r == -EBUSY)
			outcomes[i].pid = worker_find(launch->config, &targets[i].bdf);
		if (r < 0)
			r = -ECANCELED;
	}
}

int worker_move(const WorkerConfig *config, const DriverTarget *targets, size_t n,
		uint64_t timeout_usec, MoveOutcome *ret_outcomes)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_(launch_end) Launch launch = { .config = config };
	int r;

	for (size_t i = 0; i < n; i++)
		ret_outcomes[i] = (MoveOutcome){ .result.error = -ENOMEM };
	r = children_new(n, MOVE_OUTPUT_MAX, &children);
	if (r < 0 || n == 0)
		return r;
	launch_begin(config, &launch);
	start_moves(&launch, targets, children, ret_outcomes);
	children_wait(children, timeout_usec);
	for (size_t i = 0; i < n; i++)
		if (child_started(&children->items[i]))
			fill_outcome(&launch, &children->items[i], &targets[i], &ret_outcomes[i]);
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

static void fill_reset_outcome(Launch *launch, const Child *child, ResetOutcome *outcome)
{
	Bdf bdf = outcome->report.bdf;
	int r = worker_child_error(child);

	if (r == 0)
		r = worker_reset_document_parse(child->output, child->size, &bdf, &outcome->report);
	outcome->report.error = r == 0 ? outcome->report.error : r;
	if (r == 0)
		return;
	outcome->still_running = child->running;
	outcome->pid = child->running ? launch_pid(launch, child, &bdf) : child->pid;
}

static void start_reset(Launch *launch, Children *children, size_t i, const ResetTarget *target,
			ResetOutcome *outcome)
{
	const Bdf *bdf = &target->bdf;
	_cleanup_free_ char *description =
		strf("Reset %s%s (gpupass)", target->slot ? "the slot of " : "", BDF_TEXT(bdf));
	_cleanup_strv_ char **argv = NULL;
	int r = description ? reset_arguments(launch->config, target, &argv) : -ENOMEM;

	if (r >= 0)
		r = launch_start(launch, children, i, bdf, description, argv);
	outcome->report.error = r;
	outcome->still_running = r == -EBUSY;
	if (r == -EBUSY)
		outcome->pid = worker_find(launch->config, bdf);
}

int worker_reset(const WorkerConfig *config, const ResetTarget *targets, size_t n,
		 uint64_t timeout_usec, ResetOutcome *ret_outcomes)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_(launch_end) Launch launch = { .config = config };
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
	if (r < 0 || n == 0)
		return r;
	launch_begin(config, &launch);
	for (size_t i = 0; i < n; i++)
		start_reset(&launch, children, i, &targets[i], &ret_outcomes[i]);
	children_wait(children, timeout_usec);
	for (size_t i = 0; i < n; i++)
		if (child_started(&children->items[i]))
			fill_reset_outcome(&launch, &children->items[i], &ret_outcomes[i]);
	for (size_t i = 0; i < n; i++)
		if (ret_outcomes[i].report.result == RESET_UNKNOWN)
			return ret_outcomes[i].report.error;
	return 0;
}

int worker_inspect(const WorkerConfig *config, const Bdf *functions, size_t n,
		   InspectConfig config_space, uint64_t timeout_usec, Inspection **ret)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = NULL;
	int r;

	r = inspect_arguments(config, functions, n, config_space, &argv);
	if (r >= 0)
		r = children_run_one(argv, INSPECT_OUTPUT_MAX, timeout_usec, &children);
	if (r < 0)
		return r;
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
