/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `--with nearest:nic`: the companion that a declaration means by it. */
#pragma once

#include "core/group/group.h"

/*
 * The nearest to these GPUs (pcie_nearest()) that no group has. `members`: GPUs and companions so
 * far, as a declaration has them; what is there is not chosen again. For a VF it is its NIC, of
 * which the declaration takes the next one: a second VF comes from another NIC. n_nodes: as of
 * pcie_distance(). *ret_reason: one sentence.
 */
int companion_nearest(const char *kind, char *const *members, const GroupSet *groups,
		      const GpuSet *set, size_t n_nodes, Member *ret, char **ret_reason,
		      Problem **ret_problem);
