/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of one plan on a thread of its own: prepare, claim, execute. The job sends events to the
 * loop through the mailbox, in order. The last event always arrives.
 */
#pragma once

#include "job/executor.h"
#include "job/verify.h"
#include "util/mailbox.h"

typedef void (*JobListener)(uint32_t id, JobEvent *event, void *userdata);

/*
 * Starts a job. The listener runs on the loop. Copies `known` and `request`, takes references to
 * the rules and the cancellation, and borrows host, store and claims for the life of the process.
 */
void job_start(uint32_t id, Mailbox *mailbox, const JobPlace *place, const JobRequest *request,
	       JobListener listener, void *userdata);

/* The same for a dry run: the listener gets the plan as JSON, or the error as name and message. */
typedef struct PlanResult {
	char *json; /* NULL: refused */
	char *error_name;
	char *message;
} PlanResult;
DECLARE_CLEAR(PlanResult, plan_result_clear)
typedef void (*PlanListener)(PlanResult *result, void *userdata);

void plan_start(Mailbox *mailbox, const JobPlace *place, const JobRequest *request,
		PlanListener listener, void *userdata);
