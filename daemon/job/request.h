/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a caller wants done. */
#pragma once

#include "core/plan/plan.h"
#include "store/caller.h"

typedef struct JobRequest {
	PlanRequest plan; /* all but now_usec */
	/*
	 * assign, verify, release of one of its groups, bind for a machine: a person's word for the
	 * domain; NULL otherwise
	 */
	char *domain;
	char *group;		/* name; NULL: policy chooses (assign), or what the domain has */
	char *target;		/* release without domain and group: a group's name, or a domain */
	char *model;		/* assign without a group: take only this board; NULL: any */
	uint64_t timeout_usec;	/* for each device step, or a verification; 0: the default */
	bool mmio;		/* probe: link registers, too */
	bool workload;		/* verify: measure the links in the guest, too */
	CallerIdentity *caller; /* for the audit trail; NULL: the daemon itself */
	/*
	 * The domain that the word meant when polkit permitted the job, which runs on no other one.
	 * While somebody types a password, a name can pass to another domain.
	 */
	bool permitted;
	char *permitted_uuid; /* NULL: there was no such domain */
} JobRequest;

JobRequest job_request_copy(const JobRequest *from);
DECLARE_CLEAR(JobRequest, job_request_clear)
