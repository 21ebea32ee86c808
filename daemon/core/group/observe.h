/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/use.h"
#include "core/group/group.h"
#include "core/group/policy.h"
#include "core/tenancy/tenancy.h"

/*
 * Sets state, reason, domain and assignable of every group. `uses` is NULL while libvirt does not
 * answer. Then only records and drivers decide, and nothing is assignable. `tenants` NULL: no marks
 * are known, and nothing is to be erased.
 */
void groups_observe(GroupSet *groups, const DomainUses *uses, const Assignments *assignments,
		    const Tenants *tenants, const Policy *policy);
