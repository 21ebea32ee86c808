/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A place for jobs to work in: a fake host with four bridged GPUs (pair0 at 41:00 and 61:00, pair1
 * at a1:00 and c1:00, both declared), an assignment store in a directory of its own, and claims.
 */
#pragma once

#include "fake-host.h"
#include "job/job.h"
#include "job/recover.h"
#include "stores.h"

/* What became of a run. */
typedef struct Outcome {
	JobState state;
	GpupassError error; /* unless done */
	char *message;	    /* whole; NULL when done */
	char *remedy;
	bool changed;
	bool rolled_back;
	char **left;	 /* what could not be put back */
	char **steps;	 /* "bind vfio-pci: done", in the order they were told */
	char **progress; /* of an erase */
	JobNote note;	 /* the last one, for the log */
} Outcome;

typedef struct Rig Rig;

struct Rig {
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
	VfWatch *vfs;
	Rules *rules;
	JobPlace place;
	uint32_t last_job;
	uint64_t timeout_usec; /* of a move; 0: as long as any test takes */
	size_t cancel_at;      /* a user cancels while this step runs, from 1; 0: nobody does */
	const char *row;       /* of a table: what a failure says of it; NULL: nothing */
	Outcome last;	       /* of rig_try(), until the next one */
	Prepared *planned;     /* by rig_plan() */
	char *prefix;	       /* of the same */
	char *noted;	       /* by rig_note_world() */
	FakeOp at_op;	       /* rig_at() */
	unsigned at_nth;
	void (*event)(Rig *rig);
};

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
void rig_remove_directory(const char *path);

/* What a job on a thread of its own told the loop; lines: "planned pair0 for vm42, 5 steps", "0 done". */
typedef struct Told {
	char **lines;
	bool done;
	JobEvent planned, ended;
	JobNote note; /* the last one */
} Told;

/* Starts one; and runs it to its end. */
void rig_start(Rig *rig, Mailbox *mailbox, uint32_t id, const JobRequest *request, Told *told);
void rig_tell(Rig *rig, uint32_t id, const JobRequest *request, Told *ret);
/* As rig_expect(): how it ended. error: NULL, or its name without "org.gpupass1.Error." */
void told_expect(const Told *told, JobState state, const char *error, const char *words);
void told_clear(Told *told);
/* For jobs on threads of their own: dispatches until it is so. Ends the test when nothing comes. */
void rig_wait_for(Mailbox *mailbox, const bool *done);
/* Claims these functions as another job does that has looked just now; it must get them. */
void rig_claim(Claims *claims, uint32_t job, const char *group, const Bdf *functions, size_t n);
/* Prepares, executes and claims as job/job.c does, on this thread; returns &rig->last. */
const Outcome *rig_try(Rig *rig, const JobRequest *request);
/* Runs what must succeed. */
void rig_must(Rig *rig, const JobRequest *request);
/* Runs what must fail for this reason, and leave the whole world as it was. */
void rig_fails(Rig *rig, const JobRequest *request, GpupassError error, const char *words);
/* Runs what can neither be done nor undone: pair0 is quarantined, and no guest is harmed. */
void rig_sticks(Rig *rig, const JobRequest *request, GpupassError error, const char *reason);
/* How the last one ended; error and words do not matter where it is done. */
void rig_expect(const Rig *rig, JobState state, GpupassError error, const char *words);
/* "preflight: done, bind vfio-pci: done" */
void rig_expect_steps(const Rig *rig, const char *steps);
/* The two halves, for what happens between them: makes the plan of what must have one, and executes it. */
const Plan *rig_plan(Rig *rig, const JobRequest *request);
const Outcome *rig_go(Rig *rig);
/* When this call begins, which is counted from fake_watch() on, others do something. */
void rig_at(Rig *rig, FakeOp op, unsigned nth, void (*event)(Rig *rig));
/* Somebody may cancel what comes next. */
void rig_let_cancel(Rig *rig);
/* The daemon ended, and the next one knows what is on disk. */
void rig_new_claims(Rig *rig);
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
/* Why pair0 is quarantined, as the claims say; NULL: it is not. */
char *rig_quarantined(const Rig *rig);
/* Neither is pair0 quarantined, nor has the next daemon anything to do or to read. */
void rig_check_nothing_open(const Rig *rig);

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
/* Persistence mode of 61:00 is on; and vm42 has pair0, which had it. */
void rig_persistence_mode(Rig *rig);
void rig_assigned_with_persistence_mode(Rig *rig);
/* Beside vm42, which is shut off, vm77. */
void rig_two_domains(Rig *rig);
/* Another host, where pair0 goes with a VF that is not there yet. */
void rig_lacks_vf(Rig *rig);
#define RIG_NIC "0000:61:00.0"
#define RIG_VF "0000:61:10.0"
#define RIG_OTHER_VF "0000:61:10.2"
/* The definition has none of its functions any more. */
void rig_definition_lost(Rig *rig);
/* Assigned as pair0, with --numa=apply, and called gold now. */
void rig_renamed(Rig *rig);
/* pair0 has an NVMe, too, which is yet to be erased; and what is declared of it from now on. */
void rig_unready(Rig *rig);
void rig_declare_nvme(Rig *rig, bool erase);
#define NVME "0000:e1:00.0"
/* The same with a second one. */
void rig_unready_both(Rig *rig);
#define SECOND_NVME "0000:e2:00.0"
/* What groups.d says from now on. */
void rig_declare(Rig *rig, const char *text);
/* pair0 has both ports of a NIC, too. */
void rig_with_nics(Rig *rig);
#define RIG_WITH_NICS                                                                              \
	"[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"                                \
	"With=nic:e2:00.0\nWith=nic:e2:00.1\nWholeNic=yes\n"
#define RIG_GOLD "[Group]\nName=gold\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"

/* Jobs of all kinds, for what holds of each. */
typedef struct Scenario {
	const char *name;
	void (*arrange)(Rig *rig);
	JobRequest request;
	size_t n_steps;
	unsigned n_writes; /* calls that write, without the stores' */
} Scenario;

#define N_SCENARIOS 18
#define N_MAIN_SCENARIOS 6 /* the first ones, for what takes long */
extern const Scenario scenarios[N_SCENARIOS];
Rig *rig_for(const Scenario *scenario);

/* What it comes to where nothing fails. */
typedef struct Undisturbed {
	unsigned planned[FAKE_OP_MAX_]; /* calls until there was a plan */
	unsigned calls[FAKE_OP_MAX_];	/* in all */
	char *world;			/* without times */
} Undisturbed;

void rig_run_undisturbed(const Scenario *scenario, Undisturbed *ret);

/* The text of its newest receipt; NULL: there is none. *ret_n: how many there are. */
char *rig_receipt(const Rig *rig, size_t *ret_n);

char *rig_world(const Rig *rig);
/* The same without when records were written, which differs from run to run. */
char *rig_timeless_world(const Rig *rig);
/* Fails with a diff when the world is not `before`. */
void rig_check_world(const Rig *rig, const char *before, const char *what);
/* The same of the one that was noted last. */
void rig_note_world(Rig *rig);
void rig_check_noted(const Rig *rig);

/* Fails when a guest has a function that is not on vfio-pci, or the machine was mistreated. */
void rig_check_guests(const Rig *rig, const char *what);
/* One line of the world: where the function is now. */
bool rig_is_on(const Rig *rig, const char *bdf, const char *driver, const char *override);
/* All of pair0 is on vfio-pci; or where the host had it. */
bool rig_is_bound(const Rig *rig);
bool rig_is_home(const Rig *rig);
/* How many functions of pair0 its definition has, and its guest. */
void rig_expect_devices(const Rig *rig, const char *domain, size_t config, size_t live);
/* There is a record of vm42. */
bool rig_is_recorded(const Rig *rig);
/* Drift of all groups: "lacks-all/define driver/bind". */
void rig_expect_drift(const Rig *rig, const char *drift);

/* Who cancels. */
#define RIG_CANCELLER 54321
/* Requests, which may say more; strings borrowed. */
#define job_request(what, ...) ((JobRequest){ .plan.operation = (what), __VA_ARGS__ })
#define assign_request(of_domain, of_group, ...)                                                   \
	job_request(OPERATION_ASSIGN, .domain = (char *)(of_domain), .group = (char *)(of_group),  \
		    ##__VA_ARGS__)
#define release_request(of_target, ...)                                                            \
	job_request(OPERATION_RELEASE, .target = (char *)(of_target), ##__VA_ARGS__)
#define group_request(what, of_group, ...)                                                         \
	job_request(what, .group = (char *)(of_group), ##__VA_ARGS__)
#define bind_request(of_group) group_request(OPERATION_BIND, of_group)
#define verify_request(of_domain, ...)                                                             \
	job_request(OPERATION_VERIFY, .domain = (char *)(of_domain), ##__VA_ARGS__)

/* Of vm42 and pair0. */
#define ASSIGN assign_request("vm42", "pair0")
#define RELEASE release_request("vm42")
#define BIND bind_request("pair0")
#define KEEP group_request(OPERATION_BIND, "pair0", .plan.persist = true)
#define UNBIND group_request(OPERATION_UNBIND, "pair0")
#define RIG_ASSIGN ASSIGN
#define RIG_RELEASE RELEASE
#define RIG_BIND BIND
#define RIG_UNBIND UNBIND
#define RECONCILE group_request(OPERATION_RECONCILE, "pair0")
#define PREPARE group_request(OPERATION_PREPARE, "pair0")

#define VM42 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define PAIR0_FUNCTIONS "0000:41:00.0", "0000:41:00.1", "0000:61:00.0", "0000:61:00.1"
extern const char *const pair0_bdfs[4];
