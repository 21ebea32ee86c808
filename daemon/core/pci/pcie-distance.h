/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How two functions reach each other over PCIe, in the words of `nvidia-smi topo -m`
 * (host/device/nvml.h, nvmlGpuTopologyLevel_t): PIX one switch, PXB several switches and no host
 * bridge, PHB one host bridge, NODE several host bridges of one NUMA node, SYS across nodes.
 */
#pragma once

#include "core/pci/pci-snapshot.h"
#include "gpupass/string-table.h"

#define PCIE_DISTANCES(X)                                                                          \
	X(PCIE_SELF, "X")                                                                          \
	X(PCIE_PIX, "PIX")                                                                         \
	X(PCIE_PXB, "PXB")                                                                         \
	X(PCIE_PHB, "PHB")                                                                         \
	X(PCIE_NODE, "NODE")                                                                       \
	X(PCIE_SYS, "SYS")

DECLARE_ENUM(pcie_distance, PcieDistance, PCIE_DISTANCES, PCIE_DISTANCE_MAX_);

/*
 * `n_nodes`: NUMA nodes of the host; 0: not known, or a kernel without NUMA. Firmware often names
 * no node for a device. With several nodes in the host the answer is then SYS, the greater
 * distance, because nothing rules it out.
 */
PcieDistance pcie_distance(const PciFunction *a, const PciFunction *b, size_t n_nodes);

/* How many bridges both paths share, from the root port down. */
size_t pcie_shared_bridges(const PciFunction *a, const PciFunction *b);
