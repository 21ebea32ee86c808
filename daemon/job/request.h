/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a caller wants done. */
#pragma once

#include "core/plan/plan.h"

typedef struct JobRequest {
	Operation operation;
	char *domain; /* assign, verify: a person's word for it; NULL otherwise */
	char *group;  /* its name, but for release; NULL: policy chooses (assign only) */
	char *target; /* release: a group's name, or a domain */
	char *model;  /* assign without a group: only of this board; NULL: any */
	bool live, config, keep_vfio, allow_boot_vga;
	bool accept_dirty;     /* assign: also a board that no reset is known for */
	bool only_record;      /* reconcile: neither functions nor definition */
	bool wakes_nothing;    /* a dry run of one who may only read: opens no GPU, wakes none */
	uint64_t timeout_usec; /* for device steps, or of a verification; 0: the usual one */
	bool mmio;	       /* probe: link registers, too */
	FitMode numa, fit;     /* assign */
	uint32_t caller_uid;
	/*
	 * What domain the word was when somebody else permitted the job: on another one it does not
	 * run. A name can be another domain's by the time that a password was typed.
	 */
	bool permitted;
	char *permitted_uuid; /* NULL: there was none */
} JobRequest;

int job_request_copy(const JobRequest *from, JobRequest *ret);
void job_request_clear(JobRequest *request);
