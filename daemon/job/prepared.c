/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/prepared.h"

PlanFacts prepared_facts(const Prepared *p, const JobPlace *place)
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
		.policy = &place->rules->policy,
		.host = p->inventory->facts,
		.persistence = p->persistence,
		.n_persistence = p->n_persistence,
		.health = p->health,
		.n_health = p->n_health,
		.host_key = place->host_key,
	};
}

#include "prepared.inc"
