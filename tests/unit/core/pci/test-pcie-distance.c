/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "core/pci/pcie-nearest.h"
#include "rig/host-model.h"

#define UPSTREAM_MAX 8

/* `place`: its address and the bridges above it, the root port first. */
static PciFunction function_at(const char *place, int numa_node, Bdf upstream[UPSTREAM_MAX])
{
	PciFunction function = { .upstream = upstream, .numa_node = numa_node };
	_cleanup_strv_ char **words = NULL;

	strv_split(place, " ", &words);
	assert_in_range(strv_length(words), 1, UPSTREAM_MAX);
	function.bdf = bdf_of(words[0]);
	function.n_upstream = strv_length(words) - 1;
	for (size_t i = 0; i < function.n_upstream; i++)
		upstream[i] = bdf_of(words[i + 1]);
	return function;
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
		{ "a port of the same board", "00:1f.0", "00:1f.6", 0, 0, 0, PCIE_PIX },
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
		Bdf upstream[2][UPSTREAM_MAX];
		PciFunction a = function_at(rows[i].a, rows[i].node_a, upstream[0]);
		PciFunction b = function_at(rows[i].b, rows[i].node_b, upstream[1]);
		PcieDistance there = pcie_distance(&a, &b, rows[i].n_nodes);
		PcieDistance back = pcie_distance(&b, &a, rows[i].n_nodes);

		if (there != rows[i].distance || back != rows[i].distance)
			fail_msg("%s: %s there, %s back", rows[i].what,
				 pcie_distance_to_string(there), pcie_distance_to_string(back));
	}
}

/* ---- the nearest of several ---- */

/* Two GPUs below one switch; two in two places of one node. */
#define PAIR "04:00.0 00:01.0 01:00.0 02:00.0", "05:00.0 00:01.0 01:00.0 02:01.0"
#define SPREAD "04:00.0 00:01.0 01:00.0 02:00.0", "85:00.0 80:01.0"

TEST(the_nearest_is_chosen_with_its_reason_or_refused)
{
	static const struct {
		const char *what, *gpus[2], *near[3];
		const char *found;  /* NULL: refused */
		const char *reason; /* a part of it, or of the refusal's text */
	} rows[] = {
		{ "the one below the pair's switch",
		  { PAIR },
		  { "06:00.0 00:01.0 01:00.0 02:02.0", "42:00.0 40:01.0", NULL },
		  "0000:06:00.0",
		  "nic 0000:06:00.0: PIX to 0000:04:00.0, PIX to 0000:05:00.0; next is "
		  "0000:42:00.0: NODE, NODE" },
		{ "the only one",
		  { PAIR },
		  { "42:00.0 40:01.0", NULL, NULL },
		  "0000:42:00.0",
		  "nic 0000:42:00.0: NODE to 0000:04:00.0, NODE to 0000:05:00.0; there is no other" },
		{ "near to one of both",
		  { SPREAD },
		  { "42:00.0 40:01.0", "06:00.0 00:01.0 01:00.0 02:02.0", NULL },
		  "0000:06:00.0",
		  "PIX to 0000:04:00.0, NODE to 0000:85:00.0" },
		{ "none", { PAIR }, { NULL, NULL, NULL }, NULL, "there is no nic" },
		{ "two below one switch",
		  { PAIR },
		  { "06:00.0 00:01.0 01:00.0 02:02.0", "42:00.0 40:01.0",
		    "07:00.0 00:01.0 01:00.0 02:03.0" },
		  NULL,
		  "0000:06:00.0, 0000:07:00.0 are equally near" },
		{ "two ports of one board",
		  { PAIR },
		  { "06:00.0 00:01.0 01:00.0 02:02.0", "06:00.1 00:01.0 01:00.0 02:02.0", NULL },
		  NULL,
		  "0000:06:00.0, 0000:06:00.1 are equally near" },
		{ "one beside each GPU",
		  { SPREAD },
		  { "06:00.0 00:01.0 01:00.0 02:02.0", "86:00.0 80:01.0", NULL },
		  NULL,
		  "equally near" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Bdf upstream[5][UPSTREAM_MAX], found = { 0 };
		PciFunction gpus[2], near[3];
		const PciFunction *all[5];
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *reason = NULL;
		size_t n = 0;
		int r;

		for (size_t k = 0; k < 2; k++) {
			gpus[k] = function_at(rows[i].gpus[k], 0, upstream[k]);
			all[k] = &gpus[k];
		}
		for (; n < 3 && rows[i].near[n]; n++) {
			near[n] = function_at(rows[i].near[n], 0, upstream[2 + n]);
			all[2 + n] = &near[n];
		}
		r = pcie_nearest(&(PcieNearest){ .kind = "nic",
						 .candidates = all + 2,
						 .n_candidates = n,
						 .gpus = all,
						 .n_gpus = 2 },
				 &found, &reason, &problem);
		if (r != (rows[i].found ? 0 : PROBLEM) ||
		    (rows[i].found && !str_equal(rows[i].found, BDF_TEXT(&found))) ||
		    !strstr(problem ? problem->reason : str_or_empty(reason), rows[i].reason))
			fail_msg("%s: %d %s, %s", rows[i].what, r, BDF_TEXT(&found),
				 problem ? problem->reason : str_or_empty(reason));
	}
}
