/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The warning about GPUs that a plan left asleep. */
#include "core/plan/planner.h"

static bool was_left_asleep(const Planner *p, size_t i)
{
	const FunctionFacts *facts =
		inspection_find(p->facts->inspection, &p->plan->functions[i].bdf);

	return facts && facts->left_asleep;
}

void plan_warn_of_unseen(Planner *p)
{
	plan_warn_of_functions(
		p, was_left_asleep,
		"GPUs that may sleep were not checked for an answer, because that wakes them: ",
		"; root's plan checks them");
}
