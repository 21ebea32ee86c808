/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/pci/pcie-distance.h"
#include "rig/host-model.h"

#define UPSTREAM_MAX 8

/* Where a GPU is. */
typedef struct Place {
	const char *bdf;
	const char *upstream; /* the bridges above it, the root port first */
	int numa_node;
} Place;

static Gpu gpu_at(const Place *place, PciFunction *lead, Bdf upstream[UPSTREAM_MAX])
{
	_cleanup_strv_ char **words = NULL;

	strv_split(place->upstream, " ", &words);
	assert_true(strv_length(words) <= UPSTREAM_MAX);
	*lead = (PciFunction){
		.bdf = bdf_of(place->bdf),
		.upstream = upstream,
		.n_upstream = strv_length(words),
		.numa_node = place->numa_node,
	};
	for (size_t i = 0; i < lead->n_upstream; i++)
		upstream[i] = bdf_of(words[i]);
	return (Gpu){ .lead = lead };
}

/* The same both ways; which row it is, for a failure. */
static void expect_distance(const Place *a, const Place *b, size_t n_nodes, PcieDistance expected,
			    const char *what)
{
	PciFunction leads[2];
	Bdf upstream[2][UPSTREAM_MAX];
	Gpu one = gpu_at(a, &leads[0], upstream[0]), other = gpu_at(b, &leads[1], upstream[1]);
	PcieDistance there = pcie_distance(&one, &other, n_nodes);
	PcieDistance back = pcie_distance(&other, &one, n_nodes);

	if (there != expected || back != expected)
		fail_msg("%s: %s there, %s back", what, pcie_distance_to_string(there),
			 pcie_distance_to_string(back));
}

TEST(distances_are_those_of_nvidia_smi)
{
	static const struct {
		PcieDistance distance;
		Place a, b;
		const char *what;
	} rows[] = {
		ROW(PCIE_SELF, { "01:00.0", "00:01.0", 0 }, { "01:00.0", "00:01.0", 0 },
		    "the same GPU"),
		ROW(PCIE_PIX, { "04:00.0", "00:01.0 01:00.0 02:00.0", 0 },
		    { "05:00.0", "00:01.0 01:00.0 02:01.0", 0 },
		    "two downstream ports of one switch"),
		ROW(PCIE_PIX, { "01:00.0", "00:01.0", 0 }, { "01:01.0", "00:01.0", 0 },
		    "one bus below one port"),
		ROW(PCIE_PXB, { "06:00.0", "00:01.0 01:00.0 02:00.0 03:00.0 04:00.0", 0 },
		    { "09:00.0", "00:01.0 01:00.0 02:01.0", 0 }, "a switch below a switch"),
		ROW(PCIE_PXB, { "06:00.0", "00:01.0 01:00.0 02:00.0 03:00.0 04:00.0", 0 },
		    { "0a:00.0", "00:01.0 01:00.0 02:01.0 07:00.0 08:00.0", 0 },
		    "two switches below one"),
		ROW(PCIE_PIX, { "06:00.0", "00:01.0 01:00.0 02:00.0 03:00.0 04:00.0", 0 },
		    { "07:00.0", "00:01.0 01:00.0 02:00.0 03:00.0 04:01.0", 0 },
		    "one switch, itself below another"),
		ROW(PCIE_PHB, { "04:00.0", "00:01.0 01:00.0 02:00.0", 0 },
		    { "08:00.0", "00:02.0 05:00.0 06:00.0", 0 },
		    "two switches, each below a root port of its own"),
		ROW(PCIE_PHB, { "01:00.0", "00:01.0", 0 }, { "02:00.0", "00:02.0", 0 },
		    "two root ports of one host bridge"),
		ROW(PCIE_PHB, { "00:03.0", "", 0 }, { "02:00.0", "00:02.0", 0 },
		    "one on the root bus itself"),
		ROW(PCIE_NODE, { "41:00.0", "40:01.0", 0 }, { "61:00.0", "60:01.0", 0 },
		    "two host bridges of one node"),
		ROW(PCIE_NODE, { "41:00.0", "40:01.0", NUMA_NODE_NONE },
		    { "61:00.0", "60:01.0", NUMA_NODE_NONE }, "a host without NUMA"),
		ROW(PCIE_NODE, { "10000:01:00.0", "10000:00:01.0", 1 },
		    { "10001:01:00.0", "10001:00:01.0", 1 }, "the same bus number in two segments"),
		{ PCIE_SYS, { "41:00.0", "40:01.0", 0 }, { "c1:00.0", "c0:01.0", 1 }, "two nodes" },
		ROW(PCIE_SYS, { "41:00.0", "40:01.0", NUMA_NODE_NONE }, { "c1:00.0", "c0:01.0", 1 },
		    "only one node known"),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect_distance(&rows[i].a, &rows[i].b, 0, rows[i].distance, rows[i].what);
}

/* How far apart two host bridges are when firmware tells a node for none, one, or both. */
TEST(a_node_that_is_not_told_is_near_only_where_there_is_one)
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
		const Place a = { "41:00.0", "40:01.0", rows[i].a };
		const Place b = { "61:00.0", "60:01.0", rows[i].b };
		_cleanup_free_ char *what = strf("row %zu", i);

		expect_distance(&a, &b, rows[i].n_nodes, rows[i].distance, what);
	}
}
