/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the steps of a plan one after the other, and takes no decision of its own. When a step
 * fails, the executor undoes what was done, in reverse order. Every kind of step is a row of one
 * table (steps.c): act, undo, holds.
 */
#pragma once

#include "core/group/group.h"
#include "core/verify/verify.h"
#include "job/steps.h"

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
	bool changed_nothing; /* it was refused before it had or closed anything */
	char *error_name;     /* NULL: none */
	char *message;	      /* whole text; NULL: none */
	char *quarantine;     /* NULL: none */
	OpenJob *open;	      /* the job waits for libvirt; NULL: it does not */
	char *result;	      /* of a verification: JSON; NULL: none */
	Verdict verdict;      /* likewise, with a result */
	uint64_t asked_usec;
} JobEvent;
DECLARE_CLEAR(JobEvent, job_event_clear)

/* Takes what the event owns. Called on the job's thread. */
typedef void (*JobTell)(JobEvent *event, void *userdata);

/* A run of a plan; recovery makes one from the journal. */
typedef struct Run {
	StepContext context; /* first */
	JobTell tell;	     /* NULL: nobody hears of it */
	void *userdata;
	JournalJob *log; /* NULL: none is kept */
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
		       uint64_t timeout_usec, JobTell listener, void *userdata);
DECLARE_CLEAR(ExecutorResult, executor_result_clear)
