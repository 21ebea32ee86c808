/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the steps of a plan and takes no decision of its own: one step after the other, and when
 * one fails, what was done is undone in reverse order. Every step kind is a row of one table
 * (steps.c): act, undo, holds.
 */
#pragma once

#include "core/group/states.h"
#include "job/steps.h"

/* Called on the job's thread, for each change of a step. `detail` may be NULL. */
typedef struct ExecutorListener {
	void (*step)(size_t step, StepState state, const char *detail, uint64_t duration_usec,
		     void *userdata);
	void (*rolling_back)(void *userdata);
	/* A line for the log; may take its text. NULL: it is not told. */
	void (*note)(JobNote *note, void *userdata);
	void *userdata;
} ExecutorListener;

/* A run of a plan; recovery makes one from the journal. */
typedef struct Run {
	StepContext context;
	const ExecutorListener *listener;
	JournalJob *log; /* NULL: none is kept */
	size_t done;	 /* steps [0, done) have been acted on, the last perhaps in part */
	bool no_libvirt; /* it did not come back in time: nothing waits for it any more */
} Run;

/*
 * Undoes what was acted on, last first. All that can be undone is, also after one undo failed;
 * except behind a barrier. PROBLEM or -errno: of the first undo that failed.
 */
int run_roll_back(Run *run, Problem **ret_problem);

typedef struct ExecutorResult {
	JobState state;	  /* JOB_DONE, JOB_FAILED or JOB_INCOMPLETE */
	Problem *problem; /* of a failure; its state part says what became of the machine */
	char *quarantine; /* JOB_INCOMPLETE: why the group is quarantined */
	char **left; /* what could not be put back, however it ended: see StepOps.act_optional */
	bool open;   /* JOB_INCOMPLETE for want of libvirt: its journal stays, to be recovered */
} ExecutorResult;

/*
 * Each act and undo is in the journal before it begins. JOB_INCOMPLETE: the quarantine is on disk,
 * or else the journal stays open, so that the next start finds one of them.
 *
 * A call that loses libvirt is made again when it has come back, for at most LIBVIRT_WAIT_USEC; each
 * of them looks first what is there. Guests outlive a restart of libvirt.
 * timeout_usec: for each device step. -errno only when not even a problem could be made; the result
 * then has a state alone: JOB_FAILED when nothing was begun, otherwise JOB_INCOMPLETE.
 */
int execute(const JobPlace *place, uint32_t job, const Prepared *prepared, uint64_t timeout_usec,
	    const ExecutorListener *listener, ExecutorResult *ret);
void executor_result_clear(ExecutorResult *result);
