/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How two GPUs reach each other over PCIe, in the words of `nvidia-smi topo -m`:
 * PIX one switch, PXB several switches, PHB one host bridge, NODE one NUMA node, SYS across.
 */
#pragma once

#include "core/gpu.h"

#define PCIE_DISTANCES(X)                                                                          \
	X(PCIE_SELF, "X")                                                                          \
	X(PCIE_PIX, "PIX")                                                                         \
	X(PCIE_PXB, "PXB")                                                                         \
	X(PCIE_PHB, "PHB")                                                                         \
	X(PCIE_NODE, "NODE")                                                                       \
	X(PCIE_SYS, "SYS")

typedef enum PcieDistance {
#define X(enumerator, name) enumerator,
	PCIE_DISTANCES(X)
#undef X
		PCIE_DISTANCE_MAX_,
} PcieDistance;
DECLARE_STRING_TABLE(pcie_distance, PcieDistance);

PcieDistance pcie_distance(const Gpu *a, const Gpu *b);
