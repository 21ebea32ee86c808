/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a bind or an unbind does to the list of kept groups. */
#include <string.h>

#include "core/group/keep.h"
#include "core/plan/planner.h"

/* Config space, read just now, knows serial numbers that the picture lacks. */
static void add_serial_numbers(const Planner *p, Assignment *kept)
{
	for (size_t i = 0; i < kept->n_functions; i++) {
		AssignedFunction *function = &kept->functions[i];
		const FunctionFacts *facts = inspection_find(p->facts->inspection, &function->bdf);
		const Gpu *gpu = gpu_set_find(p->facts->gpus, &function->bdf);

		if (!facts || !facts->serial_number || !gpu ||
		    !bdf_equal(&gpu->lead->bdf, &function->bdf))
			continue;
		plan_copy_text(facts->serial_number, &function->serial_number);
	}
}

/* What a person asked for, of these functions. */
static const Assignment *asked_for(const Planner *p)
{
	for (size_t i = 0; i < p->n_functions; i++) {
		const Assignment *kept =
			kept_find_function(p->facts->assignments, &p->functions[i]->bdf);

		if (kept && kept->kept == KEPT_ASKED)
			return kept;
	}
	return NULL;
}

void plan_fill_kept(Planner *p)
{
	_cleanup_(assignment_freep) Assignment *kept = group_keep(
		p->facts->group, KEPT_ASKED, p->request->now_usec, p->request->caller_uid);
	const Assignment *before = asked_for(p);

	add_serial_numbers(p, kept);
	if (!before || !kept_covers(before, kept))
		p->plan->kept = TAKE_PTR(kept);
}

/* By the setting alone, whatever a person asked for. */
static bool setting_keeps(const Planner *p)
{
	return group_kept(p->facts->group, NULL, 0, p->facts->assignments, p->facts->policy) ==
	       KEPT_SETTING;
}

void plan_fill_unkept(Planner *p)
{
	const Assignment *before = asked_for(p);

	if (setting_keeps(p))
		plan_warn(
			p->plan,
			"KeepBound= in gpupassd.conf names it: until that is changed, it shows as "
			"drift, and the next boot binds it again");
	if (before)
		p->plan->kept = assignment_copy(before);
}
