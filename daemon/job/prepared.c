/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/prepared.h"

#include "core/facts/persistence.h"

PlanFacts prepared_facts(const Prepared *p, const Policy *policy)
{
	return (PlanFacts){
		.snapshot = p->inventory->snapshot,
		.gpus = p->inventory->gpus,
		.groups = p->inventory->groups,
		.group = p->group,
		.inspection = p->inspection,
		.domain = p->domain,
		.uses = p->uses,
		.assignments = p->assignments,
		.tenants = p->tenants,
		.policy = policy,
		.host = p->inventory->facts,
		.persistence = p->persistence,
		.n_persistence = p->n_persistence,
	};
}

static void prepared_clear(Prepared *prepared)
{
	caller_identity_unref(prepared->caller);
	plan_free(prepared->plan);
	inspection_free(prepared->inspection);
	persistence_list_free(prepared->persistence, prepared->n_persistence);
	tenants_free(prepared->tenants);
	virt_domain_free(prepared->domain);
	domain_uses_free(prepared->uses);
	inventory_free(prepared->inventory);
	assignments_free(prepared->assignments);
}

DEFINE_FREE(Prepared, prepared_free, prepared_clear)
