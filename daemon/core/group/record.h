/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which record, or which mark in its XML, says that a domain has a group. */
#pragma once

#include "core/group/group.h"

/*
 * The record by which the group is assigned; NULL: none. `functions` are the group's.
 *
 * A record that names one of its functions comes first. A record that has only the group's name
 * counts only when no group has any of that record's functions, because the boards are gone. If a
 * group has them, the record is that group's: names of undeclared groups may shift when boards come
 * and go.
 */
const Assignment *group_record(const Group *group, const PciFunction *const *functions, size_t n,
			       const GroupSet *groups, const Assignments *assignments);

/*
 * ---- when gpupass' element in a domain's metadata counts as evidence ----
 *
 * Anybody who may write metadata can put one there: often a tenant, through some panel, or a
 * template that was copied.
 */

/*
 * The mark names this group, which may be NULL, and the domain also has a hostdev that backs it: a
 * PCI function of that group, or one with the alias that we give the group's. Hostdevs are in
 * <devices>, which nobody can change through metadata. A mark without such a hostdev and without a
 * record is only reported.
 */
bool mark_counts(const GroupSet *groups, const DomainUse *use, const char *group);
/* gpupass put these functions there: all of them have an alias of ours. */
bool mark_is_ours(const DomainUse *use, const PciFunction *const *functions, size_t n);
