/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of one plan on a thread of its own: prepare, claim, execute. What happens is told to
 * the loop as events, through the mailbox, in order; the last one always arrives.
 */
#pragma once

#include "job/executor.h"
#include "job/verify.h"
#include "util/mailbox.h"

typedef enum JobEventKind {
	JOB_EVENT_PLANNED,
	JOB_EVENT_STEP,
	JOB_EVENT_ROLLING_BACK,
	JOB_EVENT_NOTE,
	JOB_EVENT_ENDED,
} JobEventKind;

/* Owned by the sender; the receiver may take pointers out. */
typedef struct JobEvent {
	JobEventKind kind;
	/* PLANNED; domain and functions (those that lead) also with the end of a verification */
	char *group, *domain_name, *domain_uuid;
	Bdf *functions;
	size_t n_functions;
	StepKind *steps;
	size_t n_steps;
	bool changed;
	char **warnings; /* ENDED, too: all of them, when there came more */
	/* STEP */
	size_t step;
	StepState step_state;
	char *detail;
	uint64_t duration_usec;
	/* NOTE */
	JobNote note;
	/* ENDED */
	JobState state;
	char *error_name; /* NULL: none */
	char *message;	  /* whole text; NULL: none */
	char *quarantine; /* NULL: none */
	OpenJob *open;	  /* left open for want of libvirt; NULL: it was not */
	char *result;	  /* of a verification: JSON; NULL: none */
	Verdict verdict;  /* likewise, with a result */
	uint64_t asked_usec;
} JobEvent;

typedef void (*JobListener)(uint32_t id, JobEvent *event, void *userdata);

/*
 * Starts; the listener runs on the loop. `known` and `request` are copied, rules referenced;
 * host, store and claims are borrowed for the life of the process.
 */
int job_start(uint32_t id, Mailbox *mailbox, const JobPlace *place, const JobRequest *request,
	      JobListener listener, void *userdata);

/* The same for a dry run: `done` gets the plan as JSON, or the error as name and message. */
typedef struct PlanResult {
	char *json; /* NULL: refused */
	char *error_name;
	char *message;
} PlanResult;
typedef void (*PlanListener)(PlanResult *result, void *userdata);

int plan_start(Mailbox *mailbox, const JobPlace *place, const JobRequest *request,
	       PlanListener listener, void *userdata);
