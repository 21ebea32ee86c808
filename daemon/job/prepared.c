/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/prepared.h"

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
		.health = p->health,
		.n_health = p->n_health,
	};
}

#include "prepared.inc"
