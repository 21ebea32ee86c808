/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the steps of a plan one after the other, and takes no decision of its own. When a step
 * fails, the executor undoes what was done, in reverse order. Every kind of step is a row of one
 * table (steps.c): act, undo, holds.
 */
#pragma once

#include "core/group/group.h"
#include "job/steps.h"

/* Called on the job's thread, for each change of a step. `detail` may be NULL. */
typedef struct ExecutorListener {
	void (*step)(size_t step, StepState state, const char *detail, uint64_t duration_usec,
		     void *userdata);
	void (*rolling_back)(void *userdata);
	/* A line for the log; the callee may take its text. */
	void (*note)(JobNote *note, void *userdata);
	void *userdata;
} ExecutorListener;

/* A run of a plan; recovery makes one from the journal. */
typedef struct Run {
	StepContext context;
	const ExecutorListener *listener; /* NULL: nobody hears of it */
	JournalJob *log;		  /* NULL: none is kept */
	size_t done;	 /* steps [0, done) may have been acted on, the last perhaps in part */
	size_t begun;	 /* steps [0, begun) were announced with the journal's begin */
	bool undoes;	 /* that it goes back was announced */
	bool no_libvirt; /* libvirt did not come back in time: this run no longer waits for it */
} Run;

/*
 * Undoes the steps that were begun, last first. Goes on after an undo that failed, but not past a
 * barrier. PROBLEM: of the first undo that failed.
 */
int run_roll_back(Run *run, Problem **ret_problem);

typedef struct ExecutorResult {
	JobState state;	  /* JOB_DONE, JOB_FAILED, JOB_CANCELLED or JOB_INCOMPLETE */
	Problem *problem; /* of a failure; its state line says what became of the machine */
	char *quarantine; /* JOB_INCOMPLETE: why the group is quarantined */
	char **left; /* what could not be put back, whatever the result: see StepOps.act_optional */
	bool open;   /* JOB_INCOMPLETE because libvirt is gone: the journal stays, for recovery */
} ExecutorResult;

/*
 * No act begins that the journal does not announce on disk: store/journal.h. JOB_INCOMPLETE: the quarantine is on
 * disk, or the journal stays open, so that the next start finds one of them.
 *
 * When a call loses libvirt, the executor waits for libvirt up to LIBVIRT_WAIT_USEC, and makes the
 * call again. Each call first looks at what is there. Guests outlive a restart of libvirt.
 * Between two steps, and once more after the last, it looks whether the job was cancelled, and then
 * undoes it like one whose step failed. A step that has begun comes to its end.
 *
 * timeout_usec: for each device step.
 */
ExecutorResult execute(const JobPlace *place, uint32_t job, const Prepared *prepared,
		       uint64_t timeout_usec, const ExecutorListener *listener);
DECLARE_CLEAR(ExecutorResult, executor_result_clear)
