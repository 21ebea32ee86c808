/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a request to a plan: looks at the machine once, lets core/ decide, and keeps the facts the
 * decision was made from for the preflight step. Used by jobs and by the Plan method alike.
 */
#pragma once

#include "core/plan/plan.h"
#include "job/health-look.h"
#include "job/inventory.h"
#include "store/assignments.h"
#include "store/claims.h"
#include "store/disk-watch.h"
#include "store/evidence.h"
#include "store/journal.h"
#include "store/quarantine.h"
#include "store/receipts.h"
#include "store/tenants.h"

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

/* Where a job works; all borrowed and safe to share among threads. */
typedef struct JobPlace {
	Host *host;
	const AssignmentStore *store;
	const ReceiptStore *receipts;
	const Journal *journal;		   /* NULL: none is kept (dry runs) */
	const QuarantineStore *quarantine; /* NULL: in memory only, with `journal` */
	TenantStore *tenants;		   /* NULL: nobody keeps marks (tests) */
	TopologyStore *topology;	   /* NULL: nothing is known of links (tests) */
	DiskWatch *disk;		   /* NULL: nobody watches */
	HealthLook *health;		   /* NULL: nobody looks (tests) */
	Claims *claims;
	Rules *rules;
	const Identities *known;
} JobPlace;

typedef struct Prepared {
	PlanRequest request;
	Assignments *assignments;
	Inventory *inventory;
	DomainUses *uses;
	Tenants *tenants;   /* NULL: nobody keeps marks */
	VirtDomain *domain; /* NULL: the operation has none */
	const Group *group;
	GpuPersistence *persistence; /* of GPUs on nvidia that the plan may move; NULL: not asked */
	size_t n_persistence;
	Inspection *inspection;
	Plan *plan;
} Prepared;

/*
 * job: takes the claims under this id, released by the caller with claims_release(); 0 for a dry
 * run that claims nothing. PROBLEM: the reason without its prefix; *ret_prefix then has the
 * sentence's begin ("cannot assign pair0 to vm42") as far as it was known.
 */
int prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Prepared **ret,
	    Problem **ret_problem, char **ret_prefix);
/* Another job may end while this one looks at the machine; then the look is repeated. More often than
 * this in a row means that the host is busier than it can be managed: GroupBusy. */
#define PREPARE_LOOKS_MAX 16
int prepare_too_busy(Problem **ret_problem);
/* How the sentence of a refusal begins, with what is known so far: a domain by name and UUID. */
char *prepare_prefix(const JobRequest *request, const Prepared *p);
/* Its first part: domains, assignments and groups, observed together. */
int prepare_look(const JobPlace *place, InspectConfig most, Prepared *p, Problem **ret_problem);
Prepared *prepared_free(Prepared *prepared);
DEFINE_CLEANUP(Prepared, prepared_free)
