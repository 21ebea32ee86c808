/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/pci/pcie-distance.h"
#include "rig/host-model.h"

#define UPSTREAM_MAX 8

/* `place`: its address and the bridges above it, the root port first. */
static Gpu gpu_at(const char *place, int numa_node, PciFunction *lead, Bdf upstream[UPSTREAM_MAX])
{
	_cleanup_strv_ char **words = NULL;

	strv_split(place, " ", &words);
	assert_in_range(strv_length(words), 1, UPSTREAM_MAX);
	*lead = (PciFunction){
		.bdf = bdf_of(words[0]),
		.upstream = upstream,
		.n_upstream = strv_length(words) - 1,
		.numa_node = numa_node,
	};
	for (size_t i = 0; i < lead->n_upstream; i++)
		upstream[i] = bdf_of(words[i + 1]);
	return (Gpu){ .lead = lead };
}

#define NONE NUMA_NODE_NONE
/* Two host bridges. */
#define APART "41:00.0 40:01.0", "61:00.0 60:01.0"

TEST(distances_are_those_of_nvidia_smi_both_ways)
{
	static const struct {
		const char *what, *a, *b;
		int node_a, node_b;
		size_t n_nodes; /* that the host tells */
		PcieDistance distance;
	} rows[] = {
		{ "the same GPU", "01:00.0 00:01.0", "01:00.0 00:01.0", 0, 0, 0, PCIE_SELF },
		{ "two downstream ports of one switch", "04:00.0 00:01.0 01:00.0 02:00.0",
		  "05:00.0 00:01.0 01:00.0 02:01.0", 0, 0, 0, PCIE_PIX },
		{ "one bus below one port", "01:00.0 00:01.0", "01:01.0 00:01.0", 0, 0, 0,
		  PCIE_PIX },
		{ "a switch below a switch", "06:00.0 00:01.0 01:00.0 02:00.0 03:00.0 04:00.0",
		  "09:00.0 00:01.0 01:00.0 02:01.0", 0, 0, 0, PCIE_PXB },
		{ "two switches below one", "06:00.0 00:01.0 01:00.0 02:00.0 03:00.0 04:00.0",
		  "0a:00.0 00:01.0 01:00.0 02:01.0 07:00.0 08:00.0", 0, 0, 0, PCIE_PXB },
		{ "one switch, itself below another",
		  "06:00.0 00:01.0 01:00.0 02:00.0 03:00.0 04:00.0",
		  "07:00.0 00:01.0 01:00.0 02:00.0 03:00.0 04:01.0", 0, 0, 0, PCIE_PIX },
		{ "two switches, each below a root port of its own",
		  "04:00.0 00:01.0 01:00.0 02:00.0", "08:00.0 00:02.0 05:00.0 06:00.0", 0, 0, 0,
		  PCIE_PHB },
		{ "two root ports of one host bridge", "01:00.0 00:01.0", "02:00.0 00:02.0", 0, 0,
		  0, PCIE_PHB },
		{ "one on the root bus itself", "00:03.0", "02:00.0 00:02.0", 0, 0, 0, PCIE_PHB },
		{ "two host bridges of one node", APART, 0, 0, 0, PCIE_NODE },
		{ "the same bus number in two segments", "10000:01:00.0 10000:00:01.0",
		  "10001:01:00.0 10001:00:01.0", 1, 1, 0, PCIE_NODE },
		/* How far apart they are when firmware tells a node for none, one, or both. */
		{ "no node of none", APART, NONE, NONE, 0, PCIE_NODE },
		{ "no node of one", APART, NONE, NONE, 1, PCIE_NODE },
		{ "no node of two", APART, NONE, NONE, 2, PCIE_SYS },
		{ "one told of none", APART, NONE, 0, 0, PCIE_SYS },
		{ "one told of one", APART, NONE, 0, 1, PCIE_NODE },
		{ "one told of two", APART, NONE, 0, 2, PCIE_SYS },
		{ "the only node", APART, 0, 0, 1, PCIE_NODE },
		{ "one of two", APART, 1, 1, 2, PCIE_NODE },
		{ "both of two", APART, 0, 1, 2, PCIE_SYS },
		{ "both of none", APART, 0, 1, 0, PCIE_SYS },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PciFunction leads[2];
		Bdf upstream[2][UPSTREAM_MAX];
		Gpu a = gpu_at(rows[i].a, rows[i].node_a, &leads[0], upstream[0]);
		Gpu b = gpu_at(rows[i].b, rows[i].node_b, &leads[1], upstream[1]);
		PcieDistance there = pcie_distance(&a, &b, rows[i].n_nodes);
		PcieDistance back = pcie_distance(&b, &a, rows[i].n_nodes);

		if (there != rows[i].distance || back != rows[i].distance)
			fail_msg("%s: %s there, %s back", rows[i].what,
				 pcie_distance_to_string(there), pcie_distance_to_string(back));
	}
}
