/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disposable workers: processes (gpupass-worker) that do what may never return, each with a
 * deadline. Those that change a function are units of systemd's (launch.h) or children of this process;
 * those that only look are children. A worker that outlives its deadline is never killed and never waited for: a write to
 * sysfs in uninterruptible sleep cannot be killed, and must not be repeated. Its outcome then says
 * still_running, and the group concerned is quarantined.
 *
 * Protocol: arguments in, one JSON document (schema org.gpupass1.worker/1) on its stdout out.
 *   gpupass-worker [--sysfs=DIR] [--proc=DIR] move BDF DRIVER|- OVERRIDE|-
 *   gpupass-worker [--sysfs=DIR] [--proc=DIR] reset [--slot] BDF
 *   gpupass-worker [--sysfs=DIR] [--proc=DIR] inspect [--capabilities [--awake]] BDF…
 *   gpupass-worker [--sysfs=DIR] [--proc=DIR] [--root=DIR] [--known-image=KEY] examine [BDF [PORT…]]
 *   and probe: host/launch/worker-probe.h, persistence: host/launch/worker-persistence.h
 * The worker exits with 0 when it has written its document, also when that tells of an error; what
 * is in it: host/wire/document.h. As a child its stderr is the caller's, and it gets an empty
 * environment, default signals, /dev/null as stdin, and no other file. As a unit it is systemd's as
 * any service is, and its stderr is the journal. There its end is the end of its output: nobody
 * tells us how it ended.
 *
 * A child left behind is reaped by a detached thread of this module when it does end: the caller
 * has nothing to do, and no child is left a zombie. worker_running() tells whether it has ended;
 * what it did then must be read from sysfs, since nobody reads its answer any more.
 *
 * All calls are thread-safe, and keep nothing between calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/facts/inspection.h"
#include "core/facts/reset-report.h"
#include "host/launch/config.h"
#include "host/wire/move.h"

/*
 * Beyond driver_move()'s own, result.error is -ETIMEDOUT (still running), -EPROTO (the worker died
 * before it answered), -EBADMSG (its answer makes no sense), -ECANCELED (not started, because
 * another one could not be), -EBUSY with still_running (not started, because an older worker is
 * at work on the function), or why it could not be started. With the first three nobody knows
 * how far it got: `changed` is then true, and `phase` the one that can take for ever, unbind.
 */
typedef struct MoveOutcome {
	DriverResult result;
	bool still_running; /* -ETIMEDOUT: deadline passed; -EBUSY: an older one */
	pid_t pid;	    /* of the worker that still runs, or that died; 0: not known */
	int signal;	    /* that ended it, with -EPROTO; 0: it exited, or not known */
} MoveOutcome;

/*
 * Moves n functions side by side, one worker each, and returns when all have ended or the
 * deadline (CLOCK_MONOTONIC, from when they are started) has passed. 0: all moved; otherwise the first error, in
 * the order of targets. Outcomes are filled for every target either way.
 */
int worker_move(const WorkerConfig *config, const DriverTarget *targets, size_t n,
		uint64_t timeout_usec, MoveOutcome *ret_outcomes);

/* report.result is RESET_UNKNOWN, with an error as of MoveOutcome, where there is no answer. */
typedef struct ResetTarget {
	Bdf bdf;
	bool slot; /* the whole slot that it leads, through vfio: slot_reset_with() */
} ResetTarget;

typedef struct ResetOutcome {
	ResetReport report;
	bool still_running; /* as of MoveOutcome */
	pid_t pid;
} ResetOutcome;

/*
 * More than the kernel's own wait for a silent device (PCIE_RESET_READY_POLL_MS is 60 s, and its
 * pauses double up to 65.5 s): who outlives this hangs.
 */
#define RESET_TIMEOUT_USEC (75 * 1000000ULL)

/* As worker_move(): side by side, outcomes filled for every target. 0: every one has answered,
 * whatever it says; otherwise the first error of those that have not. */
int worker_reset(const WorkerConfig *config, const ResetTarget *targets, size_t n,
		 uint64_t timeout_usec, ResetOutcome *ret_outcomes);

/*
 * -ETIMEDOUT when the worker did not answer in time; -EPROTO and -EBADMSG as above. n may be 0:
 * then there are only the host's facts.
 */
int worker_inspect(const WorkerConfig *config, const Bdf *functions, size_t n,
		   InspectConfig config_space, uint64_t timeout_usec, Inspection **ret);

/* Whether a child that this process left behind still runs. No other process is seen. */
bool worker_running(pid_t pid);

void move_outcome_clear(MoveOutcome *outcome);
void reset_outcome_clear(ResetOutcome *outcome);
