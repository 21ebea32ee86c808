/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plan that wakes nothing has not looked at. */
#include "core/plan/planner.h"

int plan_warn_of_unseen(Planner *p)
{
	const Inspection *inspection = p->facts->inspection;
	_cleanup_strv_ char **addresses = NULL;
	_cleanup_free_ char *which = NULL;

	for (size_t i = 0; inspection && i < inspection->n_functions; i++)
		if (inspection->functions[i].left_asleep &&
		    strv_append(&addresses, BDF_TEXT(&inspection->functions[i].bdf)) < 0)
			return -ENOMEM;
	if (!addresses)
		return 0;
	which = strv_join(addresses, ", ");
	return which ? plan_warn(
			       p->plan,
			       "whether GPUs that may sleep answer was not looked at, because that "
			       "wakes them: %s; root's plan looks",
			       which)
		     : -ENOMEM;
}
