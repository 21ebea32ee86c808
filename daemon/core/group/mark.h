/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When gpupass' element in a domain's metadata counts as evidence. Anybody who may write metadata
 * can put one there: often a tenant, through some panel, or a template that was copied.
 */
#pragma once

#include "core/domain/use.h"
#include "core/group/group.h"

/*
 * The mark names this group, which may be NULL, and the domain also has a hostdev that backs it: a
 * PCI function of that group, or one with the alias that we give the group's. Hostdevs are in
 * <devices>, which nobody can change through metadata. A mark without such a hostdev and without a
 * record is only reported.
 */
bool mark_counts(const GroupSet *groups, const DomainUse *use, const char *group);
/* gpupass put these functions there: all of them have an alias of ours. */
bool mark_is_ours(const DomainUse *use, const PciFunction *const *functions, size_t n);
