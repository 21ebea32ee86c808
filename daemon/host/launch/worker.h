/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What may never return is done outside the daemon, each with a deadline: by one of its parts
 * (part.h), or by a child of this process (gpupass-worker) where there are none. The daemon never
 * kills what outlives its deadline and never waits for it: a write to sysfs in uninterruptible
 * sleep cannot be killed, and must not be repeated. Its outcome then says still_running, and the
 * job quarantines its group.
 *
 * Protocol: a verb with its arguments in, one JSON document (schema org.gpupass1.worker/1, in
 * host/wire/document.h) out. To a part they are the words of a request; a child has them on its
 * command line, after the roots:
 *   move -- BDF DRIVER|- OVERRIDE|-
 *   reset [--slot] BDF
 *   inspect [--glance] [--capabilities [--awake]] BDF…
 *   config [--awake] BDF…
 *   examine [--without-image] [BDF [PORT…]]
 *   image [--known-image=KEY]
 *   and probe: host/launch/worker-probe.h, persistence: host/launch/worker-persistence.h,
 *   memory: host/launch/worker-memory.h
 * The worker exits with 0 when it has written its document, even if that reports an error. As a
 * child it has the caller's stderr, an empty environment, default signals, /dev/null as stdin, and
 * no other file. A part belongs to systemd as any service does. The end of its output is its end:
 * its exit status stays unknown.
 *
 * A detached thread of this module reaps a child that was left behind, when the child ends. The
 * caller has nothing to do, and no child is left a zombie. worker_running() says whether it has
 * ended. Read from sysfs what it did, since nobody reads its answer any more.
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
 * Beyond driver_move()'s own errors, result.error is -ETIMEDOUT (still running), -EPROTO (the
 * worker died before it answered), -EBADMSG (its answer makes no sense), -ECANCELED (not started,
 * because another one could not be), -EBUSY with still_running (not started, because an older
 * worker is at work on the function), or why it could not be started. After the first three it is
 * not known how far the worker got: `changed` is then true, and `phase` is unbind, the one that can
 * take for ever.
 */
typedef struct MoveOutcome {
	DriverResult result;
	bool still_running; /* -ETIMEDOUT: deadline passed; -EBUSY: an older one */
	pid_t pid;	    /* of the worker that still runs, or died; 0: not known */
	int signal;	    /* that ended it, with -EPROTO; 0: it exited, or not known */
} MoveOutcome;

/*
 * Moves n functions in parallel, with one worker each. Returns when all have ended or the deadline
 * (CLOCK_MONOTONIC, from their start) has passed. 0: all moved; otherwise the first error, in the
 * order of targets. Fills the outcome of every target in both cases.
 */
int worker_move(const WorkerConfig *config, const DriverTarget *targets, size_t n,
		uint64_t timeout_usec, MoveOutcome *ret_outcomes);

/* If there is no answer, report.result is RESET_UNKNOWN, with an error as in MoveOutcome. */
typedef struct ResetTarget {
	Bdf bdf;
	bool slot; /* the whole slot of this leading function, through vfio: slot_reset_with() */
} ResetTarget;

typedef struct ResetOutcome {
	ResetReport report;
	bool still_running; /* as in MoveOutcome */
	pid_t pid;
} ResetOutcome;

/*
 * More than the kernel's own wait for a silent device (PCIE_RESET_READY_POLL_MS is 60 s, and its
 * pauses double up to 65.5 s): a worker that takes longer hangs.
 */
#define RESET_TIMEOUT_USEC (75 * 1000000ULL)

/*
 * Like worker_move(): in parallel, and fills the outcome of every target. 0: every worker has
 * answered, whatever the answer; otherwise the first error of those that have not.
 */
int worker_reset(const WorkerConfig *config, const ResetTarget *targets, size_t n,
		 uint64_t timeout_usec, ResetOutcome *ret_outcomes);

/*
 * -ETIMEDOUT when the worker did not answer in time; -EPROTO and -EBADMSG as above. n may be 0:
 * then the answer has only the host's facts.
 */
int worker_inspect(const WorkerConfig *config, const Bdf *functions, size_t n,
		   InspectConfig config_space, uint64_t timeout_usec, Inspection **ret);

/* The same of the functions only: who holds them is not looked for. */
int worker_glance(const WorkerConfig *config, const Bdf *functions, size_t n,
		  InspectConfig config_space, uint64_t timeout_usec, Inspection **ret);

/* Whether a child that this process left behind still runs. Sees no other process. */
bool worker_running(pid_t pid);

void move_outcome_clear(MoveOutcome *outcome);
void reset_outcome_clear(ResetOutcome *outcome);
