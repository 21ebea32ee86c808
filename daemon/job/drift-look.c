/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/drift-look.h"

#include "core/group/observe.h"
#include "core/pci/driver-name.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Look {
	Assignments *assignments;
	Inventory *inventory;
	DomainUses *uses;
	Inspection *inspection;
	Bdf *functions; /* to inspect */
	size_t n_functions;
} Look;

LOCAL_CLEAR(Look, look_clear)
#include "drift-look.inc"

/* driver_override matters only for functions that are assigned and on vfio-pci. */
static bool is_to_inspect(const Look *look, const PciFunction *function)
{
	return pci_function_on_vfio(function) &&
	       assignments_find_function(look->assignments, &function->bdf);
}

static void leave_out_or_list(const JobPlace *place, Look *look, Group *group)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);
	_cleanup_free_ Bdf *addresses = group_addresses(group, NULL);

	if (claims_check(place->claims, addresses, n, NULL, &problem) == PROBLEM) {
		group->state = GROUP_QUARANTINED; /* or a job's: told elsewhere */
		return;
	}
	look->functions = xreallocarray(look->functions, look->n_functions + n + 1, sizeof(Bdf));
	for (size_t i = 0; i < n; i++)
		if (is_to_inspect(look, functions[i]))
			look->functions[look->n_functions++] = functions[i]->bdf;
}

static int take(const JobPlace *place, Look *look)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	GroupSet *groups;
	int r;

	look->assignments = assignment_store_load(place->store);
	r = place->host->ops->domain_uses(place->host, true, &look->uses, &problem);
	if (r >= 0)
		r = inventory_take(place->host, place->rules, look->assignments, place->known,
				   INSPECT_CONFIG_AWAKE, &look->inventory);
	if (r < 0)
		return r;
	groups = look->inventory->groups;
	groups_observe(groups, look->uses, look->assignments, &place->rules->policy);
	for (size_t i = 0; i < groups->n_items; i++)
		leave_out_or_list(place, look, &groups->items[i]);
	/* If a function does not answer, only the overrides stay unknown. */
	if (look->n_functions > 0)
		(void)host_glance(place->host, look->functions, look->n_functions,
				  INSPECT_CONFIG_NOT, &look->inspection, NULL);
	return 0;
}

int drift_look(const JobPlace *place, const BootFaults *boot, Drift **ret)
{
	_cleanup_(look_clear) Look look = { 0 };
	DriftFacts facts;
	int r = take(place, &look);

	if (r < 0)
		return r;
	facts = (DriftFacts){
		.snapshot = look.inventory->snapshot,
		.groups = look.inventory->groups,
		.uses = look.uses,
		.assignments = look.assignments,
		.inspection = look.inspection,
		.boot = boot,
	};
	*ret = drift_find(&facts);
	return 0;
}
