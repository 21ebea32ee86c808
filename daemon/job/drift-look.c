/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/drift-look.h"

#include "job/prepare.h"
#include "util/xalloc.h"

/* driver_override matters only for functions that are assigned and on vfio-pci. */
static bool is_to_inspect(const Prepared *p, const PciFunction *function)
{
	return pci_function_on_vfio(function) &&
	       assignments_find_function(p->assignments, &function->bdf);
}

/* What a job or a quarantine has is told elsewhere. Adds to `to_inspect` what else there is of it. */
static void leave_out_or_list(const JobPlace *place, const Prepared *p, Group *group,
			      Bdf *to_inspect, size_t *n_to_inspect)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);
	_cleanup_free_ Bdf *addresses = group_addresses(group, NULL);

	if (claims_check(place->claims, addresses, n, NULL, &problem) == PROBLEM)
		group->state = GROUP_QUARANTINED;
	for (size_t i = 0; !problem && i < n; i++)
		if (is_to_inspect(p, functions[i]))
			to_inspect[(*n_to_inspect)++] = functions[i]->bdf;
}

static int look(const JobPlace *place, Prepared *p)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ Bdf *to_inspect = NULL;
	size_t n = 0;
	int r;

	p->assignments = assignment_store_load(place->store);
	r = place->host->ops->domain_uses(place->host, true, &p->uses, &problem);
	if (r >= 0)
		r = look_at_groups(place, INSPECT_CONFIG_AWAKE, p);
	if (r < 0)
		return r;
	to_inspect = xcalloc(p->inventory->snapshot->n_functions + 1, sizeof(Bdf));
	for (size_t i = 0; i < p->inventory->groups->n_items; i++)
		leave_out_or_list(place, p, &p->inventory->groups->items[i], to_inspect, &n);
	/* If a function does not answer, only the overrides stay unknown. */
	if (n > 0)
		(void)host_glance(place->host, to_inspect, n, INSPECT_CONFIG_NOT, &p->inspection,
				  NULL);
	return 0;
}

int drift_look(const JobPlace *place, const BootFaults *boot, Drift **ret)
{
	_cleanup_(prepared_freep) Prepared *p = xcalloc(1, sizeof(Prepared));
	int r = look(place, p);

	if (r < 0)
		return r;
	*ret = drift_find(&(DriftFacts){
		.snapshot = p->inventory->snapshot,
		.groups = p->inventory->groups,
		.uses = p->uses,
		.assignments = p->assignments,
		.inspection = p->inspection,
		.boot = boot,
		.host_key = place->host_key,
		.n_nodes = p->inventory->facts ? p->inventory->facts->n_nodes : 0,
	});
	return 0;
}
