/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job may change, so that no other job may have it in hand, or change it under a look. */
#pragma once

#include "core/group/group.h"

typedef struct Footprint {
	Bdf *functions; /* its own first, then those that it reaches besides */
	size_t n_own, n_functions;
} Footprint;
DECLARE_CLEAR(Footprint, footprint_clear)

/*
 * The group's functions, and behind them what shares an IOMMU group with one of them: vfio gives
 * such functions away together. A reset reaches no more: where it would hit the whole bus, and
 * another board is there, the plan refuses (core/plan/reset.c); the slot is the board's, and the
 * boards that NVLinks lead to are the group's.
 *
 * And the NICs of its VFs that are not there, with all that they can have: to make one ends all
 * others of its NIC. Whoever has all of its VFs meets only who has one of them, or makes some.
 */
Footprint footprint_of_group(const PciSnapshot *snapshot, const Group *group);
/* One function at least is in both. */
bool footprints_meet(const Footprint *a, const Footprint *b);
/*
 * The functions of all groups that are in one set only, or have other GPUs there, or are known by
 * other evidence.
 */
Footprint footprint_of_change(const GroupSet *before, const GroupSet *after);
