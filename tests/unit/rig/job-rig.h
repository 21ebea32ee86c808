/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A place for jobs to work in: a fake host with four bridged GPUs (pair0 at 41:00 and 61:00, pair1
 * at a1:00 and c1:00, both declared), an assignment store in a directory of its own, and claims.
 */
#pragma once

#include "fake-host.h"
#include "job/job.h"
#include "job/recover.h"

typedef struct Rig {
	FakeHost fake;				 /* first, so that its hook finds the rig */
	char directory[64], state_directory[64]; /* the latter: journal, quarantine */
	AssignmentStore store;
	KeptStore kept; /* of `store` */
	ReceiptStore receipts;
	Journal journal;
	QuarantineStore quarantine;
	TenantStore tenants;
	bool read_only; /* the store */
	Claims *claims;
	Rules *rules;
	JobPlace place;
	uint32_t last_job;
	size_t cancel_at; /* a user cancels while this step runs, from 1; 0: nobody does */
} Rig;

/* What became of a run. */
typedef struct Outcome {
	JobState state;
	GpupassError error; /* unless done */
	char *message;	    /* whole; NULL when done */
	char *remedy;
	bool changed;
	bool rolled_back;
	char **left;  /* what could not be put back */
	char **steps; /* "bind vfio-pci: done", in the order they were told */
	JobNote note; /* the last one, for the log */
} Outcome;

/* For cmocka: *state is the rig. Ends the test when the machine was mistreated. */
int rig_setup(void **state);
int rig_teardown(void **state);
#define ON_A_RIG(test) TEST_ON(test, Rig, rig_setup, rig_teardown)
Rig *rig_new(void);
void rig_free(Rig *rig);
static inline _unused_ void rig_freep(Rig **rig)
{
	rig_free(*rig);
}

/* A new, empty directory for what a test keeps on disk. */
void rig_make_directory(char path[64], const char *what);

/* Prepares, executes and claims as job/job.c does, on this thread. */
Outcome rig_run(Rig *rig, const JobRequest *request);
/* For jobs on threads of their own: dispatches until it is so. Ends the test when nothing comes. */
void rig_wait_for(Mailbox *mailbox, const bool *done);
/* The two halves, for what happens between them. */
Outcome rig_prepare(Rig *rig, const JobRequest *request, Prepared **ret, char **ret_prefix);
Outcome rig_execute(Rig *rig, const Prepared *prepared, const char *prefix);
/* Claims these functions as another job does that has looked just now; it must get them. */
void rig_claim(Claims *claims, uint32_t job, const char *group, const Bdf *functions, size_t n);
/* Runs what must succeed. */
void rig_must(Rig *rig, const JobRequest *request);
/*
 * As if the daemon had ended in job 7, an assign of pair0 to vm42, when it had bound the group,
 * before it began this step. ret: what it was to do; NULL: it does not matter.
 */
void rig_leave_open(Rig *rig, StepKind before, Prepared **ret);
/* What the next daemon makes of the one open job. ret_left: what it could not put back, or NULL. */
void rig_recover(Rig *rig, RecoveryOutcome expected, char ***ret_left);
/* How many jobs the next daemon finds open, and files of the journal that it cannot use. */
size_t rig_count_open(const Rig *rig);
/* Removes the records of vm42, as if their files had been lost. */
void rig_lose_record(Rig *rig);
/* It failed with everything in place, for this reason; clears it. */
void rig_expect_failure(Outcome *outcome, GpupassError error, const char *words);
void outcome_clear(Outcome *outcome);

/* Nothing can be written to or removed from the store; it can be read. */
void rig_store_read_only(Rig *rig, bool read_only);

/*
 * Arrangements: vm42, shut off or running, without pair0 or with it; pair0 on vfio-pci for nobody.
 */
void rig_shut_off(Rig *rig);
void rig_running(Rig *rig);
/* With free ports for two pairs. */
void rig_running_with_room(Rig *rig);
void rig_assigned(Rig *rig);
void rig_assigned_live(Rig *rig);
void rig_bound(Rig *rig);
void rig_shut_off_bound(Rig *rig);
/* A record, a definition and drivers, of which one has drifted. */
void rig_drifted(Rig *rig);
/* pair0 is kept on vfio-pci by bind --persist; and vm42 has it, shut off. */
void rig_kept(Rig *rig);
void rig_kept_and_assigned(Rig *rig);

/* The text of its newest receipt; NULL: there is none. *ret_n: how many there are. */
char *rig_receipt(const Rig *rig, size_t *ret_n);

char *rig_world(const Rig *rig);
/* The same without when records were written, which differs from run to run. */
char *rig_timeless_world(const Rig *rig);
/* Fails with a diff when the world is not `before`. */
void rig_check_world(const Rig *rig, const char *before, const char *what);

/* Fails when a guest has a function that is not on vfio-pci, or the machine was mistreated. */
void rig_check_guests(const Rig *rig, const char *what);
/* One line of the world: where the function is now. */
bool rig_is_on(const Rig *rig, const char *bdf, const char *driver, const char *override);

/* Who cancels. */
#define RIG_CANCELLER 54321
/* Requests; strings borrowed. */
JobRequest assign_request(const char *domain, const char *group);
JobRequest release_request(const char *target);
JobRequest bind_request(const char *group);
JobRequest keep_request(const char *group);
JobRequest unbind_request(const char *group);
JobRequest reconcile_request(const char *group);
JobRequest verify_request(const char *domain);

/* The same for tables: of vm42 and pair0. */
#define RIG_ASSIGN                                                                                 \
	{                                                                                          \
		.operation = OPERATION_ASSIGN, .domain = (char *)"vm42", .group = (char *)"pair0"  \
	}
#define RIG_RELEASE                                                                                \
	{                                                                                          \
		.operation = OPERATION_RELEASE, .target = (char *)"vm42"                           \
	}
#define RIG_BIND                                                                                   \
	{                                                                                          \
		.operation = OPERATION_BIND, .group = (char *)"pair0"                              \
	}
#define RIG_UNBIND                                                                                 \
	{                                                                                          \
		.operation = OPERATION_UNBIND, .group = (char *)"pair0"                            \
	}

#define PAIR0_FUNCTIONS "0000:41:00.0", "0000:41:00.1", "0000:61:00.0", "0000:61:00.1"
