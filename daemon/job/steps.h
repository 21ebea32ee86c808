/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps a plan can have. Each has an act, an undo that restores exactly the state before, and a
 * post-condition that is observed and not remembered. Repeating an act or an undo is harmless.
 */
#pragma once

#include "gpupass/states.h"
#include "job/note.h"
#include "job/place.h"
#include "job/prepared.h"

/* What a run of a plan knows while it runs. */
typedef struct StepContext StepContext;
struct StepContext {
	const JobPlace *place;
	const Prepared *prepared;
	const Plan *plan;
	uint64_t timeout_usec;
	char *detail;	      /* of the step that just ran; owned, and the act may replace it */
	bool not_done;	      /* the act did not do all of it, which is no failure: see detail */
	JobNote note;	      /* from the act that just ran, for the log; owned */
	char *defined_xml;    /* the definition as libvirt normalised ours; owned */
	bool not_defined;     /* libvirt refused our definition before it wrote it */
	bool in_guest;	      /* the plan's guest may have had the functions; live only */
	size_t n_attached;    /* the first so many of plan->functions; the next one was tried */
	size_t n_detached;    /* the last so many of them; the one before was tried */
	char *stuck;	      /* why the group is stuck: a worker never came back; owned */
	Bdf *stuck_functions; /* never touched again; owned */
	size_t n_stuck_functions;
	bool no_domain; /* libvirt no longer has the domain: there is nothing in it to undo */
	bool no_guest;	/* the guest no longer runs: likewise */
	bool rebooted;	/* the host booted since the job began: drivers are as the boot set them */
	char **left;	/* one sentence for each optional act or undo that failed; owned */
	bool again;	/* this act lost libvirt, may have taken effect, and is repeated */
	char *apart;	/* why it is quarantined although all of it was put back; owned */
	/* Tells how far the act is, as `detail` has it; NULL: nobody hears of it. */
	void (*tell)(StepContext *c);
};

/* What recovery and rollback have to look at, when a step was begun. */
typedef enum StepChanges {
	STEP_CHANGES_NOTHING,
	STEP_CHANGES_FUNCTIONS,	 /* drivers, or a reset: not while a guest runs with them */
	STEP_CHANGES_DEFINITION, /* nothing to undo once the domain is gone */
	STEP_CHANGES_GUEST,	 /* nothing to undo once the guest is gone */
	STEP_CHANGES_MODE,	 /* persistence mode, VFs and their rules */
	STEP_CHANGES_RECORD,
} StepChanges;

typedef struct StepOps {
	int (*act)(StepContext *c, Problem **ret_problem);
	int (*undo)(StepContext *c, Problem **ret_problem); /* NULL: nothing to undo */
	/* PROBLEM when the post-condition does not hold. NULL: the act itself observes it. */
	int (*holds)(StepContext *c, Problem **ret_problem);
	StepChanges changes;
	/*
	 * What the group shows while the step runs. GROUP_UNKNOWN: what the operation shows as a
	 * whole. A release shows releasing where other operations show binding.
	 */
	GroupState shows;
	/* When its undo fails, or a worker is stuck, the steps before it are not undone: keeping
	 * their effect is safer than a guest and a host driver on one group. */
	bool barrier;
	/* A failure is reported, and the run goes on: it affects no guest and no driver, and the
	 * group is otherwise as it should be. */
	bool act_optional, undo_optional;
	/* One of the last steps, on which no other depends: recovery does it if it is missing. */
	bool finishes;
	/* Its undo does harm if the act never began: its intent is on disk before. steps.c says why
	 * the others need no sync of their own. */
	bool announced;
} StepOps;

const StepOps *step_ops(StepKind kind);
/* Adds to `left` what an optional act or undo could not do. */
void step_note_left(StepContext *c, const Problem *problem);
/* 0 for NoSuchDomain, of who takes something out: a domain that is gone has no function any more. */
int step_forgive_gone(int r, Problem **problem);
DECLARE_CLEAR(StepContext, step_context_clear)

/* Shared by the files of steps. Inspects the plan's functions, except those that are stuck. */
int step_inspect(StepContext *c, Inspection **ret, Problem **ret_problem);
/* Of the same only what they are bound to: who holds them is not looked for. */
int step_glance(StepContext *c, Inspection **ret, Problem **ret_problem);
/* The plan's checks of functions once more, when nothing may hold them any more. */
int step_check_released(StepContext *c, Problem **ret_problem);
typedef enum StepMove {
	STEP_MOVE_BACK,	 /* to the drivers they were on; not what is being erased just now */
	STEP_MOVE_ON,	 /* to those that the plan has for them */
	STEP_MOVE_ASIDE, /* what is to be erased, to its own */
	STEP_MOVE_VFS,	 /* those that the plan binds, which were not there when it was made */
} StepMove;
int step_move(StepContext *c, StepMove where, Problem **ret_problem);
int step_drivers_hold(StepContext *c, Problem **ret_problem);
/* STEP_MOVE_BACK would move nothing. */
bool step_drivers_are_back(StepContext *c);
/*
 * PROBLEM while a process has a function open through vfio, after waiting for a killed guest to
 * close its functions (job/guest-exit.h).
 */
int step_refuse_while_in_guest(StepContext *c, Problem **ret_problem);
/*
 * PROBLEM while the host uses a function that is not on vfio, or that is not known: a process, its
 * network, or a mount.
 */
int step_refuse_while_host_uses(StepContext *c, Problem **ret_problem);
/*
 * Marks the plan's boards as dirty from its domain. Comes before anything that puts a function into
 * that domain. PROBLEM: a mark could not be stored, or a board may still hold another tenant's
 * data.
 */
int step_mark_tenant(StepContext *c, Problem **ret_problem);
/* A mark could not be written. */
int tenant_not_stored(const JobPlace *place, const Bdf *bdf, int error, Problem **ret_problem);
/*
 * Resets what a guest may have had, before the undo of an assign gives it back to the host's
 * drivers: steps-reset.c. PROBLEM: it could not be reset, or its receipt not be stored.
 */
int step_reset_returning(StepContext *c, Problem **ret_problem);
/*
 * For recovery: whether all boards of the plan were reset since the last tenant, as their marks on
 * disk say. false: not, or it is not known.
 */
bool step_reset_was_made(const StepContext *c);
/* Notes that a worker never came back. Keeps `why` of the first one. */
void step_remember_stuck(StepContext *c, const Bdf *function, const char *why, ...) _printf_(3, 4);
/* "worker 123", or "a worker" when its pid is not known. */
typedef struct WorkerName {
	char text[32];
} WorkerName;
WorkerName step_worker_name(pid_t pid);
extern const StepOps step_preflight, step_bind, step_restore, step_define, step_attach, step_detach,
	step_reset, step_verify, step_record, step_forget, step_persistence_off,
	step_persistence_on, step_keep, step_unkeep, step_vfs, step_erase;
/* Checks that the list of kept groups can be written, if the plan does. */
int step_check_keep(StepContext *c, Problem **ret_problem);
