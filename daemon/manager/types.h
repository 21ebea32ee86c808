/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the manager is made with, whom it tells, and a job as it shows it. */
#pragma once

#include "job/job.h"
#include "job/place.h"

typedef struct JobStep {
	StepKind kind;
	StepState state;
	char *detail; /* NULL: none */
	uint64_t duration_usec;
} JobStep;

/* A job as the loop knows it; stays for a while after its end. */
typedef struct JobRecord {
	uint32_t id;
	Operation operation;
	char *group;	   /* "" until it is known */
	char *domain_name; /* likewise */
	char *domain_uuid; /* likewise */
	JobState state;
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
	char *result; /* "" : none */
} JobRecord;

typedef struct Manager Manager;

/* Told on the loop; all members must be set. */
typedef struct ManagerListener {
	void (*objects_changed)(void *userdata); /* groups, GPUs, assignments, notes */
	void (*job_new)(const JobRecord *job, void *userdata);
	void (*job_changed)(const JobRecord *job, void *userdata);
	void (*job_ended)(const JobRecord *job, void *userdata);
	void (*job_forgotten)(const JobRecord *job, void *userdata); /* still in the list */
	void *userdata;
} ManagerListener;

/* All borrowed for the life of the manager. */
typedef struct ManagerPlace {
	Mailbox *mailbox;
	Host *host;
	const AssignmentStore *store;
	const ReceiptStore *receipts;
	const Journal *journal;
	const QuarantineStore *quarantine;
	TenantStore *tenants;
	TopologyStore *topology;
	const char *config_directory;
	Policy policy;
	const char *host_note; /* what is wrong with this host from the start; NULL: nothing */
} ManagerPlace;

/* On the loop, once what was asked for is in the picture. */
typedef void (*ManagerDone)(void *userdata);
/* How a request that changes something ended; NULLs: all is well. */
typedef void (*ManagerDeclared)(const char *error_name, const char *message, void *userdata);
