/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan that makes a group ready for a domain: what is missing is made, what is not is erased. */
#include "core/plan/planner.h"

static size_t count_needs(const Group *group, CompanionNeed need)
{
	size_t n = 0;

	for (size_t i = 0; i < group->n_companions; i++)
		n += group->companions[i].need == need;
	return n;
}

/* Nothing is moved for good: a step that needs another driver puts the function back. */
int plan_prepare(Planner *p)
{
	const Group *group = p->facts->group;
	Plan *plan = p->plan;
	int r;

	r = plan_check_state(p);
	if (r == 0)
		r = plan_check_unread(p);
	if (r == 0)
		r = plan_check_others(p);
	if (r == 0)
		r = plan_check_all_read(p);
	if (r == 0)
		r = plan_check_evidence(p);
	if (r == 0)
		r = plan_fill_functions(p);
	if (r != 0 || group->state != GROUP_UNREADY)
		return r;
	plan_add_step(plan, STEP_PREFLIGHT, true);
	plan_add_step(plan, STEP_VFS, count_needs(group, COMPANION_TO_MAKE) > 0);
	plan_add_step(plan, STEP_ERASE, count_needs(group, COMPANION_TO_ERASE) > 0);
	plan_add_step(plan, STEP_VERIFY, true);
	return 0;
}
