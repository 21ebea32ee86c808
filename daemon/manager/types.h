/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the manager is made from, what it calls back, and a job as it shows it. */
#pragma once

#include "job/job.h"
#include "job/place.h"

typedef struct JobStep {
	StepKind kind;
	StepState state;
	char *detail; /* NULL: none */
	uint64_t duration_usec;
} JobStep;

/* A job as the loop knows it. It stays for a while after its end. */
typedef struct JobRecord {
	uint32_t id;
	Operation operation;
	char *group;	   /* "" until it is known */
	char *domain_name; /* likewise */
	char *domain_uuid; /* likewise */
	JobState state;
	JobState ends_as; /* once it is shown to have ended */
	bool is_ending;	  /* the next turn of the loop shows it */
	bool ended;
	bool rolling_back;
	JobStep *steps;
	size_t n_steps;
	bool changed;
	char **warnings;
	Bdf *functions;
	size_t n_functions;
	char *error_name;	/* "" : none */
	char *message;		/* "" : none */
	uint64_t created_usec;	/* CLOCK_REALTIME */
	uint64_t started_usec;	/* CLOCK_MONOTONIC */
	uint64_t duration_usec; /* 0 until it ended */
	uint32_t caller_uid;
	Cancellation *cancel;	   /* shared with the job's thread */
	bool cancel_requested;	   /* and accepted */
	uint32_t cancelled_by_uid; /* meaningful with that */
	char *result;		   /* "" : none */
	CallerIdentity *caller;	   /* NULL: the daemon itself */
} JobRecord;

typedef struct Manager Manager;

/* Called on the loop. All members must be set. */
typedef struct ManagerListener {
	void (*objects_changed)(void *userdata); /* groups, GPUs, assignments, notes */
	void (*job_new)(const JobRecord *job, void *userdata);
	void (*job_changed)(const JobRecord *job, void *userdata);
	void (*job_ended)(const JobRecord *job, void *userdata);
	void (*audit_written)(void *userdata); /* manager_audit_sequence() is another */
	void *userdata;
} ManagerListener;

/* All borrowed for the life of the manager. */
typedef struct ManagerPlace {
	Mailbox *mailbox;
	JobPlace job; /* the host, and what lasts; the manager adds the rest */
	const char *config_directory;
	Policy policy;
	const char *host_note; /* what was wrong with this host at start; NULL: nothing */
} ManagerPlace;

/* Called on the loop once the picture shows what was asked for. */
typedef void (*ManagerDone)(void *userdata);
/*
 * Called on the loop with the outcome of what somebody asked for, once. text: JSON, of what answers
 * so. error_name NULL: it succeeded.
 */
typedef void (*ManagerAnswered)(const char *text, const char *error_name, const char *message,
				void *userdata);
