/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the steps of a plan and takes no decision of its own: one step after the other, and when
 * one fails, what was done is undone in reverse order. Every step kind is a row of one table
 * (steps.c): act, undo, holds.
 */
#pragma once

#include "core/states.h"
#include "job/prepare.h"

/* Called on the job's thread, for each change of a step. `detail` may be NULL. */
typedef struct ExecutorListener {
	void (*step)(size_t step, StepState state, const char *detail, uint64_t duration_usec,
		     void *userdata);
	void (*rolling_back)(void *userdata);
	void *userdata;
} ExecutorListener;

typedef struct ExecutorResult {
	JobState state;	  /* JOB_DONE, JOB_FAILED or JOB_INCOMPLETE */
	Problem *problem; /* of a failure; its state part says what became of the machine */
	char *quarantine; /* JOB_INCOMPLETE: why the group is quarantined */
} ExecutorResult;

/* timeout_usec: for each device step. -errno only when not even a result could be made. */
int execute(const JobPlace *place, const Prepared *prepared, uint64_t timeout_usec,
	    const ExecutorListener *listener, ExecutorResult *ret);
void executor_result_clear(ExecutorResult *result);
