/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/topology.h"

typedef struct Place {
	Bdf bdf;
	Bdf upstream[6];
	size_t n_upstream;
	int numa_node;
} Place;

static PcieDistance distance(const Place *a, const Place *b, size_t n_nodes)
{
	Place copies[2] = { *a, *b };
	PciFunction leads[2] = { 0 };
	Gpu gpus[2] = { { .lead = &leads[0] }, { .lead = &leads[1] } };

	for (size_t i = 0; i < 2; i++) {
		leads[i].bdf = copies[i].bdf;
		leads[i].upstream = copies[i].upstream;
		leads[i].n_upstream = copies[i].n_upstream;
		leads[i].numa_node = copies[i].numa_node;
	}
	return pcie_distance(&gpus[0], &gpus[1], n_nodes);
}

static void distances_are_those_of_nvidia_smi(_unused_ void **state)
{
	static const struct {
		PcieDistance distance;
		Place a, b;
		const char *what;
	} rows[] = {
		{ PCIE_SELF,
		  { { 0, 1, 0, 0 }, { { 0, 0, 1, 0 } }, 1, 0 },
		  { { 0, 1, 0, 0 }, { { 0, 0, 1, 0 } }, 1, 0 },
		  "the same GPU" },
		{ PCIE_PIX,
		  { { 0, 4, 0, 0 }, { { 0, 0, 1, 0 }, { 0, 1, 0, 0 }, { 0, 2, 0, 0 } }, 3, 0 },
		  { { 0, 5, 0, 0 }, { { 0, 0, 1, 0 }, { 0, 1, 0, 0 }, { 0, 2, 1, 0 } }, 3, 0 },
		  "two downstream ports of one switch" },
		{ PCIE_PIX,
		  { { 0, 1, 0, 0 }, { { 0, 0, 1, 0 } }, 1, 0 },
		  { { 0, 1, 1, 0 }, { { 0, 0, 1, 0 } }, 1, 0 },
		  "one bus below one port" },
		{ PCIE_PXB,
		  { { 0, 6, 0, 0 },
		    { { 0, 0, 1, 0 },
		      { 0, 1, 0, 0 },
		      { 0, 2, 0, 0 },
		      { 0, 3, 0, 0 },
		      { 0, 4, 0, 0 } },
		    5,
		    0 },
		  { { 0, 9, 0, 0 }, { { 0, 0, 1, 0 }, { 0, 1, 0, 0 }, { 0, 2, 1, 0 } }, 3, 0 },
		  "a switch below a switch" },
		{ PCIE_PXB,
		  { { 0, 6, 0, 0 },
		    { { 0, 0, 1, 0 },
		      { 0, 1, 0, 0 },
		      { 0, 2, 0, 0 },
		      { 0, 3, 0, 0 },
		      { 0, 4, 0, 0 } },
		    5,
		    0 },
		  { { 0, 0xa, 0, 0 },
		    { { 0, 0, 1, 0 },
		      { 0, 1, 0, 0 },
		      { 0, 2, 1, 0 },
		      { 0, 7, 0, 0 },
		      { 0, 8, 0, 0 } },
		    5,
		    0 },
		  "two switches below one" },
		{ PCIE_PIX,
		  { { 0, 6, 0, 0 },
		    { { 0, 0, 1, 0 },
		      { 0, 1, 0, 0 },
		      { 0, 2, 0, 0 },
		      { 0, 3, 0, 0 },
		      { 0, 4, 0, 0 } },
		    5,
		    0 },
		  { { 0, 7, 0, 0 },
		    { { 0, 0, 1, 0 },
		      { 0, 1, 0, 0 },
		      { 0, 2, 0, 0 },
		      { 0, 3, 0, 0 },
		      { 0, 4, 1, 0 } },
		    5,
		    0 },
		  "one switch, itself below another" },
		{ PCIE_PHB,
		  { { 0, 4, 0, 0 }, { { 0, 0, 1, 0 }, { 0, 1, 0, 0 }, { 0, 2, 0, 0 } }, 3, 0 },
		  { { 0, 8, 0, 0 }, { { 0, 0, 2, 0 }, { 0, 5, 0, 0 }, { 0, 6, 0, 0 } }, 3, 0 },
		  "two switches, each below a root port of its own" },
		{ PCIE_PHB,
		  { { 0, 1, 0, 0 }, { { 0, 0, 1, 0 } }, 1, 0 },
		  { { 0, 2, 0, 0 }, { { 0, 0, 2, 0 } }, 1, 0 },
		  "two root ports of one host bridge" },
		{ PCIE_PHB,
		  { { 0, 0, 3, 0 }, { { 0 } }, 0, 0 },
		  { { 0, 2, 0, 0 }, { { 0, 0, 2, 0 } }, 1, 0 },
		  "one on the root bus itself" },
		{ PCIE_NODE,
		  { { 0, 0x41, 0, 0 }, { { 0, 0x40, 1, 0 } }, 1, 0 },
		  { { 0, 0x61, 0, 0 }, { { 0, 0x60, 1, 0 } }, 1, 0 },
		  "two host bridges of one node" },
		{ PCIE_NODE,
		  { { 0, 0x41, 0, 0 }, { { 0, 0x40, 1, 0 } }, 1, NUMA_NODE_NONE },
		  { { 0, 0x61, 0, 0 }, { { 0, 0x60, 1, 0 } }, 1, NUMA_NODE_NONE },
		  "a host without NUMA" },
		{ PCIE_NODE,
		  { { 0x10000, 1, 0, 0 }, { { 0x10000, 0, 1, 0 } }, 1, 1 },
		  { { 0x10001, 1, 0, 0 }, { { 0x10001, 0, 1, 0 } }, 1, 1 },
		  "the same bus number in two segments" },
		{ PCIE_SYS,
		  { { 0, 0x41, 0, 0 }, { { 0, 0x40, 1, 0 } }, 1, 0 },
		  { { 0, 0xc1, 0, 0 }, { { 0, 0xc0, 1, 0 } }, 1, 1 },
		  "two nodes" },
		{ PCIE_SYS,
		  { { 0, 0x41, 0, 0 }, { { 0, 0x40, 1, 0 } }, 1, NUMA_NODE_NONE },
		  { { 0, 0xc1, 0, 0 }, { { 0, 0xc0, 1, 0 } }, 1, 1 },
		  "only one node known" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PcieDistance there = distance(&rows[i].a, &rows[i].b, 0);
		PcieDistance back = distance(&rows[i].b, &rows[i].a, 0);

		if (there != rows[i].distance || back != rows[i].distance)
			fail_msg("row %zu, %s: %s there, %s back", i, rows[i].what,
				 pcie_distance_to_string(there), pcie_distance_to_string(back));
	}
}

/* How far apart two host bridges are when firmware tells a node for none, one, or both. */
static void a_node_that_is_not_told_is_near_only_where_there_is_one(_unused_ void **state)
{
	static const struct {
		int a, b;
		size_t n_nodes;
		PcieDistance distance;
	} rows[] = {
		{ NUMA_NODE_NONE, NUMA_NODE_NONE, 0, PCIE_NODE },
		{ NUMA_NODE_NONE, NUMA_NODE_NONE, 1, PCIE_NODE },
		{ NUMA_NODE_NONE, NUMA_NODE_NONE, 2, PCIE_SYS },
		{ NUMA_NODE_NONE, 0, 0, PCIE_SYS },
		{ NUMA_NODE_NONE, 0, 1, PCIE_NODE },
		{ NUMA_NODE_NONE, 0, 2, PCIE_SYS },
		{ 0, 0, 1, PCIE_NODE },
		{ 1, 1, 2, PCIE_NODE },
		{ 0, 1, 2, PCIE_SYS },
		{ 0, 1, 0, PCIE_SYS },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Place a = { { 0, 0x41, 0, 0 }, { { 0, 0x40, 1, 0 } }, 1, rows[i].a };
		Place b = { { 0, 0x61, 0, 0 }, { { 0, 0x60, 1, 0 } }, 1, rows[i].b };
		PcieDistance there = distance(&a, &b, rows[i].n_nodes);
		PcieDistance back = distance(&b, &a, rows[i].n_nodes);

		if (there != rows[i].distance || back != rows[i].distance)
			fail_msg("row %zu: %s there, %s back", i, pcie_distance_to_string(there),
				 pcie_distance_to_string(back));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_are_those_of_nvidia_smi),
		cmocka_unit_test(a_node_that_is_not_told_is_near_only_where_there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
