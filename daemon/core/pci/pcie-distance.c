/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pcie-distance.h"

DEFINE_STRING_TABLE(pcie_distance, PcieDistance, PCIE_DISTANCES)

size_t pcie_shared_bridges(const PciFunction *a, const PciFunction *b)
{
	size_t n = 0;

	while (n < a->n_upstream && n < b->n_upstream &&
	       bdf_equal(&a->upstream[n], &b->upstream[n]))
		n++;
	return n;
}

/* The bus directly below the host bridge. */
static uint8_t root_bus(const PciFunction *function)
{
	return function->n_upstream > 0 ? function->upstream[0].bus : function->bdf.bus;
}

/* A host with one node, or none, has no connection between nodes. */
static bool same_node(const PciFunction *a, const PciFunction *b, size_t n_nodes)
{
	if (a->numa_node != NUMA_NODE_NONE && b->numa_node != NUMA_NODE_NONE)
		return a->numa_node == b->numa_node;
	return n_nodes == 1 || (n_nodes == 0 && a->numa_node == b->numa_node);
}

PcieDistance pcie_distance(const PciFunction *a, const PciFunction *b, size_t n_nodes)
{
	size_t shared;

	if (bdf_equal(&a->bdf, &b->bdf))
		return PCIE_SELF;
	/* Functions of one board need no bridge between them. */
	if (bdf_same_slot(&a->bdf, &b->bdf))
		return PCIE_PIX;
	shared = pcie_shared_bridges(a, b);
	if (shared > 0) {
		/*
		 * Below the last shared bridge a single switch adds one downstream port to each
		 * path; anything longer passes a second switch.
		 */
		return a->n_upstream - shared <= 1 && b->n_upstream - shared <= 1 ? PCIE_PIX
										  : PCIE_PXB;
	}
	if (a->bdf.segment == b->bdf.segment && root_bus(a) == root_bus(b))
		return PCIE_PHB;
	return same_node(a, b, n_nodes) ? PCIE_NODE : PCIE_SYS;
}
