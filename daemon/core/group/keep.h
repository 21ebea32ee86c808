/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which groups stay on vfio-pci while no domain has them. */
#pragma once

#include "core/facts/inspection.h"
#include "core/facts/kept.h"
#include "core/group/group.h"

/*
 * ASKED: a kept group has exactly these functions and ids. SETTING: KeepBound= names the group, or
 * the model of each of its boards, and its links are known as an assignment needs them.
 */
KeptWhy group_kept(const Group *group, const PciFunction *const *functions, size_t n,
		   const Assignments *assignments, const Policy *policy);

/*
 * What tells a function of the group from another one: ids, serial number as far as that is known,
 * and of a companion its place. NULL: no config space was read.
 */
AssignedFunction group_identify(const Group *group, const PciFunction *function,
				const Inspection *inspection);
/* The group as a kept one, for kept.d. */
Assignment *group_keep(const Group *group, KeptWhy why, uint64_t now_usec, uint32_t caller_uid,
		       const Inspection *inspection);
