/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The companions of groups: those that are declared, and those that a record names. */
#pragma once

#include "core/group/group.h"
#include "core/links/declaration.h"
#include "core/tenancy/tenancy.h"

void companions_declare(Group *group, const Declaration *declaration, const PciSnapshot *snapshot);
/* What of the record is no GPU's, but can be a companion. It was allowed when it was assigned. */
void companions_record(Group *group, const Assignment *record, const GpuSet *set);

/*
 * The first VF of the NIC that no group has, by these declarations and records, nor one of `more`.
 * False: there is none.
 */
bool companions_choose_vf(const PciFunction *nic, const Declarations *declarations,
			  const Assignments *assignments, char *const *more, Bdf *ret);

/* Why the group cannot be used with its companions as they are; NULL: it can. */
char *companions_fault(const Group *group, const GroupSet *all, const Policy *policy);

/* Sets what each companion needs. Without marks nothing is to be erased. */
void companions_settle(Group *group, const Tenants *tenants);
/* What a prepare must do before a domain may have the group, in words; NULL: nothing. */
char *companions_lack(const Group *group);
/* Why no domain may have the group, and no prepare helps: data on an NVMe. NULL: one may. */
char *companions_why_not(const Group *group, const Tenants *tenants);
