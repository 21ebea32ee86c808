/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `--with nearest:nic`: the companion that a declaration means by it. */
#pragma once

#include "core/group/group.h"

/* All borrowed. */
typedef struct NearestWish {
	const char *kind;
	char *const *members; /* GPUs and companions so far, as a declaration has them */
	size_t n_nodes;	      /* as of pcie_distance() */
} NearestWish;

/*
 * The nearest to these GPUs (pcie_nearest()) of those that neither a group has nor `members`. For a
 * VF it is its NIC, of which the declaration takes the next one: a second VF comes from another
 * NIC. *ret_reason: one sentence.
 */
int companion_nearest(const NearestWish *wish, const GroupSet *groups, const GpuSet *set,
		      Member *ret, char **ret_reason, Problem **ret_problem);
