/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps a plan can have. Each is an act, an undo that leads back to exactly the state before,
 * and a post-condition that is observed, not remembered. Doing an act or an undo twice is harmless.
 */
#pragma once

#include "job/prepare.h"

/* What a run of a plan knows while it runs. */
typedef struct StepContext {
	const JobPlace *place;
	const Prepared *prepared;
	const Plan *plan;
	uint64_t timeout_usec;
	char *detail;	   /* of the step that just ran; owned */
	char *defined_xml; /* the definition as libvirt normalised ours; owned */
	size_t n_attached; /* of plan->functions, in order */
	size_t n_detached;
	char *stuck;	      /* a worker that never came back: why the group is stuck; owned */
	Bdf *stuck_functions; /* never touched again; owned */
	size_t n_stuck;
} StepContext;

typedef struct StepOps {
	int (*act)(StepContext *c, Problem **ret_problem);
	int (*undo)(StepContext *c, Problem **ret_problem); /* NULL: nothing to undo */
	/* PROBLEM when the post-condition does not hold. NULL: the step has none. */
	int (*holds)(StepContext *c, Problem **ret_problem);
} StepOps;

const StepOps *step_ops(StepKind kind);
void step_context_clear(StepContext *c);

/* Shared by the step sources. */
int step_move(StepContext *c, bool forward, Problem **ret_problem);
int step_drivers_hold(StepContext *c, Problem **ret_problem);
extern const StepOps step_preflight, step_bind, step_restore, step_define, step_attach, step_detach,
	step_verify, step_record, step_forget;
