/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps a plan can have. Each is an act, an undo that leads back to exactly the state before,
 * and a post-condition that is observed, not remembered. Doing an act or an undo twice is harmless.
 */
#pragma once

#include "job/note.h"
#include "job/place.h"
#include "job/prepared.h"

/* What a run of a plan knows while it runs. */
typedef struct StepContext {
	const JobPlace *place;
	const Prepared *prepared;
	const Plan *plan;
	uint64_t timeout_usec;
	char *detail;	      /* of the step that just ran; owned */
	JobNote note;	      /* from the act that just ran, for the log; owned */
	char *defined_xml;    /* the definition as libvirt normalised ours; owned */
	bool not_defined;     /* ours was refused before it was written */
	size_t n_attached;    /* of plan->functions, in order; the next one was tried */
	size_t n_detached;    /* of them, from the end; the one before was tried */
	char *stuck;	      /* a worker that never came back: why the group is stuck; owned */
	Bdf *stuck_functions; /* never touched again; owned */
	size_t n_stuck;
	bool no_domain; /* libvirt no longer has it: there is nothing of it to undo */
	bool no_guest;	/* it does not run any more: likewise */
	bool rebooted;	/* since the job began: drivers are as the boot made them */
	char **left;	/* what an optional act or undo has not done, a sentence each; owned */
	bool again;	/* an act that lost libvirt, and may have been done, is done again */
} StepContext;

typedef struct StepOps {
	int (*act)(StepContext *c, Problem **ret_problem);
	int (*undo)(StepContext *c, Problem **ret_problem); /* NULL: nothing to undo */
	/* PROBLEM when the post-condition does not hold. NULL: the step has none. */
	int (*holds)(StepContext *c, Problem **ret_problem);
	/* Where its undo fails, or a worker is stuck, steps before it are not undone: what they
	 * did is safe to keep, and safer than a guest and a host driver on one group. */
	bool barrier;
	/* Where it fails that is told, and the run goes on: no guest and no driver is concerned,
	 * and the group is as good as before in all else. */
	bool act_optional, undo_optional;
} StepOps;

const StepOps *step_ops(StepKind kind);
/* Keeps in `left` what an optional act or undo could not do. 0 or -ENOMEM. */
int step_note_left(StepContext *c, const Problem *problem);
void step_context_clear(StepContext *c);

/* Shared by the step sources. Inspects the plan's functions, but none that is stuck. */
int step_inspect(StepContext *c, Inspection **ret);
/* The same once a guest that was killed has let go (job/guest-exit.h). */
int step_inspect_past_exit(StepContext *c, Inspection **ret);
int step_move(StepContext *c, bool forward, Problem **ret_problem);
int step_drivers_hold(StepContext *c, Problem **ret_problem);
/* PROBLEM while somebody has a function open through vfio. */
int step_refuse_while_in_guest(StepContext *c, Problem **ret_problem);
/*
 * Turns the marks of the plan's boards dirty, of its domain; before anything that puts a function into
 * that. PROBLEM: it could not be stored, or another tenant's data may still be in one.
 */
int step_mark_tenant(StepContext *c, Problem **ret_problem);
/* A worker never came back: `why` is kept of the first one. */
int step_remember_stuck(StepContext *c, const Bdf *function, const char *why, ...) _printf_(3, 4);
/* "worker 123", or "a worker" where its pid is not known. */
typedef struct WorkerName {
	char text[32];
} WorkerName;
WorkerName step_worker_name(pid_t pid);
extern const StepOps step_preflight, step_bind, step_restore, step_define, step_attach, step_detach,
	step_reset, step_verify, step_record, step_forget, step_persistence_off,
	step_persistence_on;
