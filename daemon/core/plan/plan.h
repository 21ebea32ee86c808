/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan: what will be written where, decided before anything is written. plan_make() is pure. It
 * returns a complete plan, or refuses with one named problem. The executor runs the steps of a plan
 * and decides nothing.
 */
#pragma once

#include "core/plan/types.h"

/* 0 with *ret, PROBLEM with *ret_problem, or -errno. */
int plan_make(const PlanRequest *request, const PlanFacts *facts, Plan **ret,
	      Problem **ret_problem);

/*
 * The first of what an assign checks, before it takes the group in hand: no other domain has it by
 * a record. Of `facts` group, groups, assignments and uses count.
 */
int plan_check_record(const PlanFacts *facts, const char *domain_uuid, Problem **ret_problem);

/*
 * Refuses by the register of checks (core/checks/checks.h), and appends what else that says to
 * `ret_warnings`, which may be NULL. The group may be of an older snapshot than the facts'. Of a
 * request to take functions all rows count that refuse a plan. Only guests, and functions that do
 * not answer, make it refuse a release or an unbind. If request->live says that the release starts
 * with a detach, one guest may hold the functions.
 */
int plan_check_functions(const PlanFacts *facts, const PlanRequest *request, char ***ret_warnings,
			 Problem **ret_problem);

/* Checks that fresh facts equal those that the plan was made from. If not: StalePlan. */
int plan_check_fresh(const Plan *plan, const Inspection *inspection, Problem **ret_problem);

/*
 * The group for a request that named none: the one that the domain has already, otherwise the first
 * free one in natural order of names. `model`: only groups of this board; NULL: any. PROBLEM when
 * there is none, with the reason.
 */
int plan_choose_group(const GroupSet *groups, const char *domain_uuid, const char *model,
		      const Group **ret, Problem **ret_problem);

/*
 * "cannot assign pair0 to vm42 (3f0c9a52-…)", for problem_message(). `domain` comes from
 * domain_ref_text(). Either may be NULL and is then left out.
 */
char *plan_prefix(Operation operation, const char *group, const char *domain);
/* One line about a step, as a job shows it when the step is done: "4 functions". */
char *plan_step_detail(const Plan *plan, StepKind step);

/*
 * The plan as JSON (schema org.gpupass1.plan/1): steps, each sysfs write in order, the XML diff,
 * warnings. `gpupass plan` prints it, and the D-Bus method Plan returns it.
 */
char *plan_to_json(const Plan *plan);
