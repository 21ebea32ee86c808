/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of one plan on a thread of its own: prepare, claim, execute. The job sends events to the
 * loop through the mailbox, in order. The last event always arrives.
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

/* Owned by the sender. The receiver may take pointers out of it. */
typedef struct JobEvent {
	JobEventKind kind;
	/* PLANNED; the end of a verification has domain and leading functions, too */
	char *group, *domain_name, *domain_uuid;
	Bdf *functions;
	size_t n_functions;
	StepKind *steps;
	size_t n_steps;
	bool changed;
	char **warnings; /* ENDED, too: all warnings, if the run added some */
	/* STEP */
	size_t step;
	StepState step_state;
	char *detail;
	uint64_t duration_usec;
	/* NOTE */
	JobNote note;
	/* ENDED */
	JobState state;
	int numbers_error;    /* 0: numbers of jobs are reserved */
	bool changed_nothing; /* it was refused before it had anything in hand */
	char *error_name;     /* NULL: none */
	char *message;	      /* whole text; NULL: none */
	char *quarantine;     /* NULL: none */
	OpenJob *open;	      /* the job waits for libvirt; NULL: it does not */
	char *result;	      /* of a verification: JSON; NULL: none */
	Verdict verdict;      /* likewise, with a result */
	uint64_t asked_usec;
} JobEvent;
DECLARE_CLEAR(JobEvent, job_event_clear)

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
