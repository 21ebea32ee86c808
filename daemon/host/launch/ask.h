/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the questions of host/wire/question.h. What may never return is done outside the daemon,
 * each with a deadline: by one of its parts (part.h), or by a child of this process
 * (gpupass-worker, gpupass-initramfs) where there are none. The daemon never kills what outlives
 * its deadline and never waits for it: a write to sysfs in uninterruptible sleep cannot be killed,
 * and must not be repeated. The ask then says still_running, and the job quarantines its group.
 *
 * A child has the caller's stderr, an empty environment, default signals, /dev/null as stdin, and
 * no other file. It exits with 0 when it has written its document, even if that has an error. A
 * part belongs to systemd as any service does. The end of its output is its end: its exit status
 * stays unknown. A detached thread of this module reaps a child that was left behind, when the
 * child ends. Read from sysfs what it did, since nobody reads its answer any more.
 *
 * All calls are thread-safe, and keep nothing between calls.
 */
#pragma once

#include <sys/types.h>

#include "core/base/problem.h"
#include "host/launch/config.h"
#include "host/wire/question.h"

typedef struct Ask {
	QuestionId id;
	const char *before;   /* an option before the functions; NULL: the question's own */
	const char *after[2]; /* operands, or an option, behind them */
	const Bdf *functions; /* borrowed */
	size_t n;
	void *answer; /* borrowed; of the question's size, all zeros until there is an answer */
	/*
	 * 0: answered. -ETIMEDOUT (still running), -EPROTO (it died before it answered), -EBADMSG
	 * (its answer makes no sense, is too long, or another version's), -EBUSY (not asked, because
	 * an older one is at work on it), -ECANCELED (not asked, because another one could not be),
	 * what the part itself met, or why it could not be started.
	 */
	int error;
	Problem *problem; /* the same in words; owned */
	bool still_running;
	pid_t pid; /* of the process that still runs, or died; 0: not known */
} Ask;

/* The limit that the question itself has. */
#define ASK_USUAL_TIMEOUT (UINT64_MAX - 1)

/*
 * Asks all, side by side, and returns when all have ended or `timeout_usec` has passed since they
 * began. Nobody waits beyond `deadline_usec` (CLOCK_MONOTONIC; 0: none), which does not count for
 * questions that change something. Those to the mover go to one mover, and no others with them.
 */
void ask_parts(const WorkerConfig *config, Ask *asks, size_t n, uint64_t timeout_usec,
	       uint64_t deadline_usec);

/* Makes the problem of an ask that was not asked at all. Takes `cause`. */
void ask_refuse(Ask *ask, int error, char *cause, char *remedy);

/* Frees the problem; the answer is the caller's. */
void ask_clear(Ask *ask);
