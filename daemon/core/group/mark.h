/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When gpupass' element in a domain's metadata is evidence. Whoever may write metadata, which is often a
 * tenant through some panel, or a copied template, can put one there.
 */
#pragma once

#include "core/domain/use.h"
#include "core/group/group.h"

/*
 * Beside the mark stands a PCI function of the group that it names, or a hostdev with an alias of ours: an
 * element of <devices>, which metadata cannot make. Without, and without a record, it is only told.
 */
bool mark_counts(const GroupSet *groups, const DomainUse *use);
/* gpupass itself put these functions there: all of them have an alias of ours. */
bool mark_is_ours(const DomainUse *use, const PciFunction *const *functions, size_t n);
