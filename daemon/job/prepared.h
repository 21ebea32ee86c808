/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/plan/plan.h"
#include "job/inventory.h"
#include "job/place.h"
#include "store/caller.h"

/* What a job found and decided: the preflight step compares these facts with the machine. */
typedef struct Prepared {
	PlanRequest request;
	Assignments *assignments;
	Inventory *inventory;
	DomainUses *uses;
	Tenants *tenants;   /* NULL: there is no store of marks */
	VirtDomain *domain; /* NULL: the operation has none */
	const Group *group;
	GpuPersistence *persistence; /* of GPUs on nvidia that the plan may move; NULL: not asked */
	size_t n_persistence;
	GpuHealth *health; /* of GPUs and NICs that are to be taken together; NULL: not asked */
	size_t n_health;
	Inspection *inspection;
	Plan *plan;
	CallerIdentity *caller; /* NULL: the daemon itself */
} Prepared;

/* What a plan is made from. All pointers are borrowed. */
PlanFacts prepared_facts(const Prepared *prepared, const JobPlace *place);

DECLARE_FREE(Prepared, prepared_free)
