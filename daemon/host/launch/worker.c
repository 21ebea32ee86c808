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

/* "--" ends the options: an override that another tool set may begin with a dash. */
static char **move_arguments(const WorkerConfig *config, const DriverTarget *target)
{
	char **argv = worker_arguments_begin(config, "move");

	strv_append(&argv, "--");
	strv_append(&argv, BDF_TEXT(&target->bdf));
	strv_append(&argv, target->driver ? target->driver : "-");
	strv_append(&argv, target->driver_override ? target->driver_override : "-");
	return argv;
}

static void fill_outcome(const Launch *launch, size_t i, const DriverTarget *target,
			 MoveOutcome *outcome)
{
	const Child *child = launch_child(launch, i);
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
	outcome->pid =
		child->running ? launch_pid(launch->config, child, &target->bdf) : child->pid;
	outcome->signal = r == -EPROTO ? child->signal : 0;
}

static int add_move(Launch *launch, size_t i, const DriverTarget *target)
{
	if ((target->driver && !driver_name_valid(target->driver)) ||
	    (target->driver_override && !driver_override_valid(target->driver_override)))
		return -EINVAL;
	launch->queue[i] = move_arguments(launch->config, target);
	return 0;
}

/* After one that could not start, starts no more: a half-moved group only has to be moved back. */
static void add_moves(Launch *launch, const DriverTarget *targets, MoveOutcome *outcomes)
{
	int r = 0;

	for (size_t i = 0; i < launch->n; i++) {
		if (r == 0)
			r = add_move(launch, i, &targets[i]);
		outcomes[i] = (MoveOutcome){ .result.error = r };
		if (r < 0)
			r = -ECANCELED;
	}
}

static void take_outcome(const Launch *launch, size_t i, const DriverTarget *target,
			 MoveOutcome *outcome)
{
	if (child_started(launch_child(launch, i))) {
		fill_outcome(launch, i, target, outcome);
		return;
	}
	if (outcome->result.error == 0)
		outcome->result.error = launch_error(launch, i);
	outcome->still_running = outcome->result.error == -EBUSY;
	if (outcome->still_running)
		outcome->pid = worker_find(launch->config, &target->bdf);
}

int worker_move(const WorkerConfig *config, const DriverTarget *targets, size_t n,
		uint64_t timeout_usec, MoveOutcome *ret_outcomes)
{
	_cleanup_(launch_end) Launch launch = launch_begin(config, n, MOVE_OUTPUT_MAX);

	if (n == 0)
		return 0;
	add_moves(&launch, targets, ret_outcomes);
	launch_run(&launch, timeout_usec);
	for (size_t i = 0; i < n; i++)
		take_outcome(&launch, i, &targets[i], &ret_outcomes[i]);
	for (size_t i = 0; i < n; i++)
		if (ret_outcomes[i].result.error < 0)
			return ret_outcomes[i].result.error;
	return 0;
}

static char **reset_arguments(const WorkerConfig *config, const ResetTarget *target)
{
	char **argv = worker_arguments_begin(config, "reset");

	if (target->slot)
		strv_append(&argv, "--slot");
	strv_append(&argv, BDF_TEXT(&target->bdf));
	return argv;
}

static void fill_reset_outcome(const Launch *launch, const Child *child, ResetOutcome *outcome)
{
	Bdf bdf = outcome->report.bdf;
	int r = worker_child_error(child);

	if (r == 0)
		r = worker_reset_document_parse(child->output, child->size, &bdf, &outcome->report);
	outcome->report.error = r == 0 ? outcome->report.error : r;
	if (r == 0)
		return;
	outcome->still_running = child->running;
	outcome->pid = child->running ? launch_pid(launch->config, child, &bdf) : child->pid;
}

static void take_reset_outcome(const Launch *launch, size_t i, ResetOutcome *outcome)
{
	if (child_started(launch_child(launch, i))) {
		fill_reset_outcome(launch, launch_child(launch, i), outcome);
		return;
	}
	if (outcome->report.error == 0)
		outcome->report.error = launch_error(launch, i);
	outcome->still_running = outcome->report.error == -EBUSY;
	if (outcome->still_running)
		outcome->pid = worker_find(launch->config, &outcome->report.bdf);
}

int worker_reset(const WorkerConfig *config, const ResetTarget *targets, size_t n,
		 uint64_t timeout_usec, ResetOutcome *ret_outcomes)
{
	_cleanup_(launch_end) Launch launch = launch_begin(config, n, MOVE_OUTPUT_MAX);

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		ret_outcomes[i] = (ResetOutcome){
			.report = { .bdf = targets[i].bdf, .result = RESET_UNKNOWN },
		};
		launch.queue[i] = reset_arguments(config, &targets[i]);
	}
	launch_run(&launch, timeout_usec);
	for (size_t i = 0; i < n; i++)
		take_reset_outcome(&launch, i, &ret_outcomes[i]);
	for (size_t i = 0; i < n; i++)
		if (ret_outcomes[i].report.result == RESET_UNKNOWN)
			return ret_outcomes[i].report.error;
	return 0;
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
