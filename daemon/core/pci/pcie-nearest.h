/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several functions is nearest to a group's GPUs over PCIe: `--with nearest:nic`. */
#pragma once

#include "core/base/problem.h"
#include "core/pci/pcie-distance.h"

/* All borrowed. */
typedef struct PcieNearest {
	const char *kind; /* what the candidates are: "nic" */
	const PciFunction *const *candidates;
	size_t n_candidates;
	const PciFunction *const *gpus; /* the leading functions */
	size_t n_gpus;
	size_t n_nodes; /* as of pcie_distance() */
} PcieNearest;

/*
 * The one whose greatest distance to any of the GPUs is the smallest; of several of these the one
 * with the smaller distances to the others. Where two are equally near it refuses, and names them:
 * two ports of one board may be in two networks. *ret_reason: one sentence.
 */
int pcie_nearest(const PcieNearest *search, Bdf *ret, char **ret_reason, Problem **ret_problem);
