/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree that a guest gets for a host's: its shape for each distance, its numbers in many domains,
 * what is refused, and the trees of whole hosts, in fixtures/hosts/NAME.mirror.
 */
#include "rig/test.h"

#include <fcntl.h>
#include <stdio.h>

#include "core/mirror/mirror.h"
#include "rig/domains.h"
#include "rig/host-model.h"
#include "rig/text-diff.h"

#define MEMBERS_MAX 32
#define UPSTREAM_MAX 8
#define FIXTURE_MAX (4U * 1024 * 1024)

#define Q35 "<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>"
#define ACPI "<features><acpi/></features>"
#define CELLS "<cpu><numa><cell id='0' cpus='0-3'/><cell id='1' cpus='4-7'/></numa></cpu>"
#define PLACED                                                                                     \
	"<numatune><memnode cellid='0' mode='strict' nodeset='0'/>"                                \
	"<memnode cellid='1' mode='strict' nodeset='1'/></numatune>"
#define EXPANDER(index, target)                                                                    \
	"<controller type='pci' index='" index "' model='pcie-expander-bus'>" target               \
	"<address type='pci' domain='0' bus='0' slot='5' function='0'/></controller>"
#define PORT(index, bus, slot)                                                                     \
	"<controller type='pci' index='" index "' model='pcie-root-port'>"                         \
	"<address type='pci' domain='0' bus='" bus "' slot='" slot "' function='0'/></controller>"

/* ---- hosts ---- */

typedef struct Host {
	PciFunction functions[MEMBERS_MAX];
	Bdf upstream[MEMBERS_MAX][UPSTREAM_MAX];
	const PciFunction *members[MEMBERS_MAX];
	size_t n_members;
} Host;

/* "04:00.0 00:01.0 @1 | …": a member's address, the bridges above it, its NUMA node (or none). */
static void read_host(const char *text, Host *host)
{
	_cleanup_strv_ char **members = NULL;

	*host = (Host){ 0 };
	strv_split(text, "|", &members);
	for (char **member = members; *member; member++) {
		PciFunction *function = &host->functions[host->n_members];
		Bdf *upstream = host->upstream[host->n_members];
		_cleanup_strv_ char **words = NULL;

		strv_split(*member, " ", &words);
		*function = (PciFunction){ .upstream = upstream, .numa_node = NUMA_NODE_NONE };
		function->bdf = bdf_of(words[0]);
		for (char **word = words + 1; *word; word++) {
			if (**word == '@')
				function->numa_node = atoi(*word + 1);
			else
				upstream[function->n_upstream++] = bdf_of(*word);
		}
		host->members[host->n_members++] = function;
	}
}

static DomainXml *domain(const char *inner, const char *devices)
{
	_cleanup_free_ char *text =
		strf("<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		     "<name>vm42</name><uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242</uuid>%s"
		     "<devices>%s</devices></domain>",
		     inner, devices);

	return domain_parsed(text);
}

static MirrorTree *make(const Host *host, size_t n_nodes, const char *inner, const char *devices,
			Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain(inner, devices);
	MirrorFacts facts = { .xml = xml,
			      .members = host->members,
			      .n_members = host->n_members,
			      .n_nodes = n_nodes };
	MirrorTree *tree = NULL;
	int r = mirror_make(&facts, &tree, ret_problem);

	assert_int_equal(r == 0, tree != NULL);
	assert_int_equal(r == PROBLEM, *ret_problem != NULL);
	return tree;
}

/* ---- what holds of every tree ---- */

static void expect_same_distances(const char *what, const MirrorTree *tree,
				  const PciFunction *const *members, size_t n, size_t n_nodes)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			PcieDistance host = pcie_distance(members[i], members[k], n_nodes);
			PcieDistance guest = mirror_distance(tree, i, k);

			if (host != guest)
				fail_msg("%s: members %zu and %zu are %s, in the guest %s", what, i,
					 k, pcie_distance_to_string(host),
					 str_or_empty(pcie_distance_to_string(guest)));
		}
}

static bool collides(const MirrorNode *a, const MirrorNode *b)
{
	/* Its address is that of its root bus. */
	bool expander = a->role == MIRROR_EXPANDER || b->role == MIRROR_EXPANDER;
	bool ports = (a->role == MIRROR_ROOT_PORT || a->role == MIRROR_DOWNSTREAM) &&
		     (b->role == MIRROR_ROOT_PORT || b->role == MIRROR_DOWNSTREAM);

	return (a->role != MIRROR_MEMBER && a->index == b->index) ||
	       (a->bus == b->bus && a->slot == b->slot) ||
	       (!expander && bdf_equal(&a->guest, &b->guest)) ||
	       (ports && a->chassis == b->chassis);
}

/* Parents first, each in the place that its parent has, and no two the same. */
static void expect_sound(const char *what, const MirrorTree *tree)
{
	for (size_t i = 0; i < tree->n_nodes; i++) {
		const MirrorNode *node = &tree->nodes[i];
		bool top = node->parent == MIRROR_NONE;

		if (top != (node->role == MIRROR_EXPANDER) || node->parent >= (int)i ||
		    node->bus != (top ? 0 : (unsigned)tree->nodes[node->parent].index))
			fail_msg("%s: node %zu is not below its parent", what, i);
		if (node->slot >= 32 || node->index > (int)UINT8_MAX)
			fail_msg("%s: node %zu is out of bounds", what, i);
		for (size_t k = 0; k < i; k++)
			if (collides(node, &tree->nodes[k]))
				fail_msg("%s: nodes %zu and %zu collide", what, i, k);
	}
}

/* "E0(R(U(D(0)D(1))))": an expander of cell 0, its root port, a switch of two ports, members. */
static void print_shape(FILE *f, const MirrorTree *tree, int parent)
{
	static const char letters[MIRROR_ROLE_MAX_] = { 'E', 'R', 'U', 'D', 0 };

	for (size_t i = 0; i < tree->n_nodes; i++) {
		const MirrorNode *node = &tree->nodes[i];

		if (node->parent != parent)
			continue;
		if (node->role == MIRROR_MEMBER) {
			fprintf(f, "%d", node->member);
			continue;
		}
		fputc(letters[node->role], f);
		if (node->cell != MIRROR_NONE)
			fprintf(f, "%d", node->cell);
		fputc('(', f);
		print_shape(f, tree, (int)i);
		fputc(')', f);
	}
}

static char *shape_of(const MirrorTree *tree)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	print_shape(f, tree, MIRROR_NONE);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* ---- shapes ---- */

#define ONE_SWITCH "04:00.0 00:01.0 01:00.0 02:00.0 | 05:00.0 00:01.0 01:00.0 02:01.0"
#define TWO_SWITCHES                                                                               \
	"06:00.0 00:01.0 01:00.0 02:00.0 03:00.0 04:00.0 | "                                       \
	"0a:00.0 00:01.0 01:00.0 02:01.0 07:00.0 08:00.0"
#define TWO_BRIDGES "41:00.0 40:01.0 | 61:00.0 60:01.0"
#define TWO_NODES "41:00.0 40:01.0 @0 | 61:00.0 60:01.0 @1"

TEST(a_tree_has_only_what_its_distances_need)
{
	static const struct {
		const char *what, *host, *shape;
	} rows[] = {
		{ "one member", "41:00.0 40:01.0 @0", "E0(R(0))" },
		{ "one below many switches", "06:00.0 00:01.0 01:00.0 02:00.0 03:00.0 04:00.0 @1",
		  "E1(R(0))" },
		{ "PIX", ONE_SWITCH, "E(R(U(D(0)D(1))))" },
		{ "PIX, without a bridge", "00:1f.0 | 00:1f.6", "E(R(U(D(0)D(1))))" },
		{ "PXB", TWO_SWITCHES, "E(R(U(D(U(D(0)))D(U(D(1))))))" },
		{ "PXB, of two that are PIX",
		  TWO_SWITCHES " | 05:00.0 00:01.0 01:00.0 02:00.0 "
			       "03:00.0 04:01.0",
		  "E(R(U(D(U(D(0)D(2)))D(U(D(1))))))" },
		{ "PHB", "01:00.0 00:01.0 | 02:00.0 00:02.0", "E(R(0)R(1))" },
		{ "PHB, of two that are PIX", ONE_SWITCH " | 08:00.0 00:02.0",
		  "E(R(U(D(0)D(1)))R(2))" },
		{ "NODE", "41:00.0 40:01.0 @1 | 61:00.0 60:01.0 @1", "E1(R(0))E1(R(1))" },
		{ "SYS", TWO_NODES, "E0(R(0))E1(R(1))" },
		{ "two segments", "10000:01:00.0 10000:00:01.0 @1 | 10001:01:00.0 10001:00:01.0 @1",
		  "E1(R(0))E1(R(1))" },
		{ "members in any order",
		  "41:00.0 40:01.0 @0 | 61:00.0 60:01.0 @1 | 42:00.0 40:02.0 @0 | "
		  "61:00.1 60:01.0 @1",
		  "E0(R(0)R(2))E1(R(U(D(1)D(3))))" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *shape = NULL;
		Host host;

		read_host(rows[i].host, &host);
		tree = make(&host, 2, Q35 ACPI CELLS PLACED, "", &problem);
		if (!tree)
			fail_msg("%s: %s", rows[i].what, problem->cause);
		expect_sound(rows[i].what, tree);
		expect_same_distances(rows[i].what, tree, host.members, host.n_members, 2);
		shape = shape_of(tree);
		if (!str_equal(shape, rows[i].shape))
			fail_msg("%s: %s instead of %s", rows[i].what, shape, rows[i].shape);
	}
}

/* Any path of root port and switches. Numbers as a linear congruence makes them. */
static void random_host(Host *host, unsigned *seed)
{
	*host = (Host){ .n_members = 12 };
	for (size_t i = 0; i < host->n_members; i++) {
		PciFunction *f = &host->functions[i];
		unsigned bus;

		*seed = *seed * 1103515245 + 12345;
		bus = (*seed >> 16 & 1) * 0x80;
		f->numa_node = bus > 0;
		f->upstream = host->upstream[i];
		f->upstream[f->n_upstream++] = (Bdf){ 0, (uint8_t)bus, 1 + (*seed >> 17 & 1), 0 };
		/* Each switch has a bus that says by which ports it is reached. */
		for (unsigned level = 0; level < (*seed >> 18) % 4; level++) {
			const Bdf *above = &f->upstream[f->n_upstream - 1];
			unsigned at = bus + 1 + level * 0x20 + (above->device + above->bus) % 0x10;

			f->upstream[f->n_upstream++] = (Bdf){ 0, (uint8_t)at, 0, 0 };
			f->upstream[f->n_upstream++] =
				(Bdf){ 0, (uint8_t)(at + 0x10), *seed >> (20 + level) & 1, 0 };
		}
		f->bdf = (Bdf){ 1, (uint8_t)i, 0, 0 };
		host->members[i] = f;
	}
}

TEST(hosts_of_any_switches_keep_their_distances)
{
	unsigned seed = 1, made = 0;

	for (unsigned i = 0; i < 200; i++) {
		_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *what = strf("host %u", i);
		Host host;

		random_host(&host, &seed);
		tree = make(&host, 2, Q35 ACPI CELLS PLACED, "", &problem);
		if (!tree)
			continue;
		made++;
		expect_sound(what, tree);
		expect_same_distances(what, tree, host.members, host.n_members, 2);
	}
	assert_in_range(made, 100, 200);
}

/* ---- numbers ---- */

TEST(numbers_are_those_that_the_domain_leaves)
{
	static const struct {
		const char *what, *devices;
		int index, bus_nr;
		unsigned slot, chassis;
	} rows[] = {
		{ "an empty domain", "", 1, 250, 3, 3 },
		{ "ports that are there", PORT("1", "0", "3") PORT("7", "0", "4"), 8, 250, 5, 10 },
		{ "an index that is missing",
		  PORT("1", "0", "3") "<controller type='pci' "
				      "model='pcie-root-port'/>",
		  3, 250, 4, 5 },
		{ "an expander", EXPANDER("3", "<target busNr='200'/>"), 4, 194, 3, 6 },
		{ "two expanders",
		  EXPANDER("3", "<target busNr='100'/>") EXPANDER("4", "<target busNr='0x50'/>"), 5,
		  74, 3, 7 },
		{ "the least that pcie.0 needs",
		  EXPANDER("2", "<target busNr='10'/>") PORT("3", "0", "4"), 4, 4, 3, 6 },
		{ "ports below an expander need none of pcie.0's",
		  EXPANDER("2", "<target busNr='9'/>") PORT("3", "2", "0") PORT("4", "2", "1"), 5,
		  3, 3, 7 },
		{ "a chassis that somebody chose",
		  "<controller type='pci' index='1' model='pcie-root-port'><target chassis='3' "
		  "port='0x10'/></controller>",
		  2, 250, 3, 5 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		const MirrorNode *member;
		Host host;

		/* Six bridges: E(R(U(D(0)D(1)))R(2)) */
		read_host(ONE_SWITCH " | 08:00.0 00:02.0", &host);
		tree = make(&host, 1, Q35 ACPI, rows[i].devices, &problem);
		if (!tree)
			fail_msg("%s: %s", rows[i].what, problem->cause);
		expect_sound(rows[i].what, tree);
		if (tree->nodes[0].index != rows[i].index ||
		    tree->nodes[0].bus_nr != rows[i].bus_nr ||
		    tree->nodes[0].slot != rows[i].slot ||
		    tree->nodes[1].chassis != rows[i].chassis - 1)
			fail_msg("%s: index %d, busNr %d, slot %u, chassis %u", rows[i].what,
				 tree->nodes[0].index, tree->nodes[0].bus_nr, tree->nodes[0].slot,
				 tree->nodes[1].chassis + 1);
		member = mirror_tree_member(tree, 2);
		assert_int_equal(member->bus, rows[i].index + 5);
		assert_int_equal(member->guest.bus, rows[i].bus_nr + 5);
		assert_null(mirror_tree_member(tree, 3));
		assert_int_equal(mirror_distance(tree, 0, 3), PCIE_DISTANCE_MAX_);
	}
}

TEST(expanders_follow_each_other_without_a_gap)
{
	_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	Host host;

	read_host("41:00.0 40:01.0 @0 | 42:00.0 40:02.0 @0 | 61:00.0 60:01.0 @1", &host);
	tree = make(&host, 2, Q35 ACPI CELLS PLACED, "", &problem);
	assert_non_null(tree);
	assert_int_equal(tree->nodes[0].bus_nr, 251);
	assert_int_equal(tree->nodes[5].bus_nr, 254);
	assert_int_equal(tree->nodes[5].host_node, 1);
	assert_string_equal(BDF_TEXT(&tree->nodes[5].host), "0000:60:00.0");
	assert_string_equal(BDF_TEXT(&tree->nodes[3].guest), "0000:fb:01.0");
	assert_string_equal(BDF_TEXT(&mirror_tree_member(tree, 2)->guest), "0000:ff:00.0");
}

/* A cell's memory is where its <memnode> says, else where <memory> does. */
TEST(cells_are_those_whose_memory_is_on_the_node)
{
	static const struct {
		const char *inner, *shape;
	} rows[] = {
		{ CELLS PLACED, "E1(R(0))" },
		{ CELLS "<numatune><memory mode='strict' nodeset='1'/></numatune>", "E0(R(0))" },
		{ CELLS "<numatune><memory mode='strict' nodeset='0'/>"
			"<memnode cellid='1' mode='strict' nodeset='1'/></numatune>",
		  "E1(R(0))" },
		{ "<cpu><numa><cell cpus='0'/><cell cpus='1'/></numa></cpu>" PLACED, "E1(R(0))" },
		{ CELLS "<numatune><memory nodeset='1'/></numatune>", "E0(R(0))" },
		{ CELLS "<numatune><memory mode='restrictive' nodeset='1'/></numatune>",
		  "E0(R(0))" },
		{ CELLS "<numatune><memory mode='interleave' nodeset='1'/></numatune>", "E(R(0))" },
		{ CELLS "<numatune><memory mode='strict' nodeset='0-1'/></numatune>", "E(R(0))" },
		{ CELLS "<numatune><memory mode='strict' placement='auto'/></numatune>",
		  "E(R(0))" },
		{ CELLS, "E(R(0))" },
		{ "", "E(R(0))" },
	};
	Host host;

	read_host("61:00.0 60:01.0 @1", &host);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *inner = strf(Q35 ACPI "%s", rows[i].inner), *shape = NULL;
		_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;

		tree = make(&host, 2, inner, "", &problem);
		assert_non_null(tree);
		shape = shape_of(tree);
		if (!str_equal(shape, rows[i].shape))
			fail_msg("row %zu: %s instead of %s", i, shape, rows[i].shape);
	}
}

/* ---- refusals ---- */

#define ANY_HOST "41:00.0 40:01.0 @0"

TEST(what_has_no_tree_is_refused_with_the_reason)
{
	static const struct {
		const char *what, *host;
		size_t n_nodes;
		const char *inner, *devices, *cause;
	} rows[] = {
		{ "i440fx", ANY_HOST, 1,
		  "<os><type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type></os>" ACPI, "",
		  "machine type 'pc-i440fx-7.2'" },
		{ "virt", ANY_HOST, 1,
		  "<os><type arch='aarch64' machine='virt-7.2'>hvm</type></os>" ACPI, "",
		  "for q35 only" },
		{ "no ACPI", ANY_HOST, 1, Q35, "", "it has no ACPI" },
		{ "an expander past libvirt", ANY_HOST, 1,
		  Q35 ACPI "<qemu:commandline><qemu:arg value='-device'/><qemu:arg "
			   "value='pxb-pcie,bus_nr=128'/></qemu:commandline>",
		  "", "<qemu:commandline> adds a bridge" },
		{ "an expander without a number", ANY_HOST, 1, Q35 ACPI, EXPANDER("3", ""),
		  "its controller 3, a pcie-expander-bus, has no busNr" },
		{ "no cells", TWO_NODES, 2, Q35 ACPI, "",
		  "41:00.0 is on NUMA node 0, and no cell of the guest has its memory on that node "
		  "alone: it has no cells" },
		{ "one cell", TWO_NODES, 2,
		  Q35 ACPI "<cpu><numa><cell id='0' cpus='0'/></numa></cpu><numatune>"
			   "<memnode cellid='0' mode='strict' nodeset='0'/></numatune>",
		  "",
		  "61:00.0 is on NUMA node 1, and no cell of the guest has its memory on that" },
		{ "cells anywhere", TWO_NODES, 2, Q35 ACPI CELLS, "",
		  "its cell 0 on none or several, its cell 1 on none or several" },
		{ "one node, two cells that are elsewhere",
		  "41:00.0 40:01.0 @2 | 61:00.0 60:01.0 @2", 3, Q35 ACPI CELLS PLACED, "",
		  "its cell 0 on node 0, its cell 1 on node 1" },
		{ "cells that only prefer the nodes", TWO_NODES, 2,
		  Q35 ACPI CELLS "<numatune><memory mode='preferred' nodeset='0'/><memnode "
				 "cellid='1' mode='preferred' nodeset='1'/></numatune>",
		  "", "its cell 0 on none or several, its cell 1 on none or several" },
		{ "a node that firmware does not name", "41:00.0 40:01.0 @0 | 61:00.0 60:01.0", 2,
		  Q35 ACPI CELLS PLACED, "", "does not tell the NUMA node of 0000:" },
		{ "nodes that nobody knows", TWO_BRIDGES, 0, Q35 ACPI, "",
		  "does not tell the NUMA node" },
		{ "one node without a name, two cells", TWO_BRIDGES, 1, Q35 ACPI CELLS PLACED, "",
		  "does not tell the NUMA node" },
		{ "no index", ANY_HOST, 1, Q35 ACPI, PORT("254", "0", "3"),
		  "the tree has 2 controllers, and of 256 indices those from 255 on are free" },
		{ "no bus numbers", ANY_HOST, 1, Q35 ACPI,
		  EXPANDER("2", "<target busNr='5'/>") PORT("3", "0", "4"),
		  "free between those of pcie.0 and its lowest expander: 1" },
		{ "a device that is near to two that are not",
		  "02:00.0 00:01.0 | 05:00.0 00:01.0 02:01.0 | 06:00.0 00:01.0 02:01.0 05:01.0", 1,
		  Q35 ACPI, "", "0000:02:00.0 and 0000:06:00.0 are PXB on the host, and would be" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		MirrorTree *tree;
		Host host;

		read_host(rows[i].host, &host);
		tree = make(&host, rows[i].n_nodes, rows[i].inner, rows[i].devices, &problem);
		if (tree || problem->error != GPUPASS_ERROR_UNSUPPORTED_DOMAIN ||
		    !strstr(problem->cause, rows[i].cause) || !problem->remedy)
			fail_msg("%s: %s", rows[i].what, problem ? problem->cause : "not refused");
	}
}

/* Of libvirt's words for QEMU, and of one that only has these letters. */
TEST(an_expander_past_libvirt_is_known_by_its_name)
{
	static const struct {
		const char *value;
		bool refused;
	} rows[] = {
		{ "pxb-pcie,bus_nr=128", true },
		{ "pxb,id=a", true },
		{ "{\"driver\":\"pxb-pcie\"}", true },
		{ "tftp=/srv,bootfile=pxboot.0", false },
	};
	Host host;

	read_host(ANY_HOST, &host);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *inner =
			strf(Q35 ACPI "<qemu:commandline><qemu:arg value='%s'/>"
				      "</qemu:commandline>",
			     rows[i].value);
		_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;

		tree = make(&host, 1, inner, "", &problem);
		if (!tree != rows[i].refused)
			fail_msg("%s", rows[i].value);
	}
}

/* Whoever writes the XML may have each of the 256 used, by few indices, below an expander. */
TEST(a_domain_without_a_free_chassis_is_refused)
{
	_cleanup_strv_ char **ports = NULL;
	_cleanup_free_ char *devices = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	Host host;

	read_host(ANY_HOST, &host);
	strv_append(&ports, EXPANDER("1", "<target busNr='200'/>"));
	for (unsigned i = 0; i < 256; i++)
		strv_appendf(&ports,
			     "<controller type='pci' index='2' model='pcie-root-port'>"
			     "<target chassis='%u'/><address type='pci' domain='0' bus='1' "
			     "slot='0' function='0'/></controller>",
			     i);
	devices = strv_join(ports, "");
	assert_null(make(&host, 1, Q35 ACPI, devices, &problem));
	assert_non_null(strstr(problem->cause, "of 256 chassis 0 are free"));
}

/* Each turn of a group beside another one leaves controllers, until the last one goes. */
TEST(a_domain_without_room_is_told_to_release_its_groups)
{
	static const char *const full[] = { PORT("254", "0", "3"),
					    EXPANDER("2", "<target busNr='4'/>") };
	Host host;

	read_host(ANY_HOST, &host);
	for (size_t i = 0; i < ELEMENTS(full); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;

		assert_null(make(&host, 1, Q35 ACPI, full[i], &problem));
		assert_non_null(strstr(problem->remedy, "release the domain's groups"));
	}
}

TEST(more_expanders_than_slots_are_refused)
{
	_cleanup_strv_ char **members = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	Host host;

	/* A host bridge each, and 23 slots from 3 on. */
	for (unsigned i = 0; i < 24; i++)
		strv_appendf(&members, "%02x:00.0 %02x:01.0 @0", 2 * i + 1, 2 * i);
	text = strv_join(members, "|");
	read_host(text, &host);
	assert_null(make(&host, 1, Q35 ACPI, "", &problem));
	assert_non_null(strstr(problem->cause, "24 expanders are needed"));
	assert_non_null(strstr(problem->remedy, "release the domain's groups"));
	problem = problem_free(problem);
	host.n_members = 23;
	mirror_tree_free(make(&host, 1, Q35 ACPI, "", &problem));
	assert_null(problem);
	host.n_members = 0;
	assert_int_equal(mirror_make(&(MirrorFacts){ 0 }, NULL, NULL), -EINVAL);
}

/* Into the same definition. */
static void add_tree(DomainXml *xml, const char *group, const Host *host)
{
	_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
	DomainXmlGpu gpus[MEMBERS_MAX] = { 0 };

	assert_int_equal(mirror_make(&(MirrorFacts){ .xml = xml,
						     .members = host->members,
						     .n_members = host->n_members,
						     .n_nodes = 1 },
				     &tree, NULL),
			 0);
	for (size_t i = 0; i < host->n_members; i++)
		gpus[i] =
			(DomainXmlGpu){ .functions = { host->members[i]->bdf }, .n_functions = 1 };
	assert_int_equal(domain_xml_add_group(xml, group, gpus, host->n_members, tree, NULL), 0);
}

static void remove_tree(DomainXml *xml, const char *group, const Host *host)
{
	Bdf addresses[MEMBERS_MAX];
	bool changed;

	for (size_t i = 0; i < host->n_members; i++)
		addresses[i] = host->members[i]->bdf;
	domain_xml_remove_group(xml, group, addresses, host->n_members, &changed);
	assert_true(changed);
}

static void expect_flawless(const DomainXml *xml, const Host *host)
{
	_cleanup_(mirror_tree_freep) MirrorTree *tree = domain_xml_mirror(xml);
	_cleanup_free_ char *flaw = mirror_flaw(tree, true, host->members, host->n_members, 1);

	if (flaw)
		fail_msg("%s", flaw);
}

/* Whichever goes first: libvirt fills a gap in the indices, so the other one keeps controllers. */
TEST(two_groups_have_a_tree_each_and_leave_none)
{
	for (size_t first = 0; first < 2; first++) {
		_cleanup_(domain_xml_freep) DomainXml *xml =
			domain(Q35 ACPI, "<memballoon model='none'/>");
		_cleanup_free_ char *before = domain_xml_to_text(xml), *after = NULL;
		Host hosts[2];

		read_host("41:00.0 40:01.0 42:00.0 43:00.0 @0 | 61:00.0 40:01.0 42:00.0 43:01.0 @0",
			  &hosts[0]);
		read_host("a1:00.0 80:01.0 @0 | c1:00.0 80:02.0 @0", &hosts[1]);
		add_tree(xml, "pair0", &hosts[0]);
		add_tree(xml, "pair1", &hosts[1]);
		expect_flawless(xml, &hosts[0]);
		expect_flawless(xml, &hosts[1]);
		remove_tree(xml, first == 0 ? "pair0" : "pair1", &hosts[first]);
		expect_flawless(xml, &hosts[1 - first]);
		remove_tree(xml, first == 0 ? "pair1" : "pair0", &hosts[1 - first]);
		after = domain_xml_to_text(xml);
		assert_string_equal(before, after);
		assert_null(domain_xml_mirror(xml));
	}
}

TEST(names_of_roles_are_libvirts_models)
{
	MirrorRole role;

	for (int i = 0; i < MIRROR_ROLE_MAX_; i++) {
		assert_int_equal(
			mirror_role_from_string(mirror_role_to_string((MirrorRole)i), &role), 0);
		assert_int_equal(role, i);
	}
}

/* ---- whole hosts ---- */

static void print_node(FILE *f, const MirrorTree *tree, const MirrorNode *node)
{
	for (int up = node->parent; up != MIRROR_NONE; up = tree->nodes[up].parent)
		fputs("  ", f);
	fprintf(f, "%s", mirror_role_to_string(node->role));
	if (node->role == MIRROR_EXPANDER)
		fprintf(f, " index %d, busNr 0x%02x, slot %u, cell %d; host %s, node %d",
			node->index, node->bus_nr, node->slot, node->cell, BDF_TEXT(&node->host),
			node->host_node);
	else if (node->role == MIRROR_MEMBER)
		fprintf(f, " %s is %s on the host", BDF_TEXT(&node->guest), BDF_TEXT(&node->host));
	else
		fprintf(f, " index %d, %s", node->index, BDF_TEXT(&node->guest));
	fputc('\n', f);
}

/* All that may be given away: GPUs, then NICs and NVMes, as one group. */
static size_t members_of(const HostModel *h, const PciFunction *members[MEMBERS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < h->set->n_gpus && n < MEMBERS_MAX; i++)
		members[n++] = h->set->gpus[i].lead;
	for (size_t i = 0; i < h->snapshot->n_functions && n < MEMBERS_MAX; i++)
		if (pci_function_may_accompany(h->snapshot->functions[i]))
			members[n++] = h->snapshot->functions[i];
	return n;
}

/* What looks at the domain later finds each member where the tree says. */
static void expect_seen(DomainXml *xml, const MirrorTree *tree, const PciFunction *const *members,
			size_t n)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *text = NULL;
	DomainXmlGpu gpus[MEMBERS_MAX] = { 0 };

	for (size_t i = 0; i < n; i++)
		gpus[i] = (DomainXmlGpu){ .functions = { members[i]->bdf }, .n_functions = 1 };
	assert_int_equal(domain_xml_add_group(xml, "all", gpus, n, tree, &problem), 0);
	text = domain_xml_to_text(xml);
	assert_int_equal(domain_use_from_xml(NULL, text, &use, &problem), 0);
	for (size_t i = 0; i < n; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(&use, &members[i]->bdf);

		assert_true(hostdev->has_seen);
		assert_true(bdf_equal(&hostdev->seen, &mirror_tree_member(tree, i)->guest));
	}
}

/* A tree that was read has its members behind all controllers. */
static const MirrorNode *same_place(const MirrorTree *tree, const MirrorNode *of)
{
	return of->role == MIRROR_MEMBER ? mirror_tree_member(tree, (size_t)of->member)
					 : FIND(tree->nodes, tree->n_nodes,
						it->role == of->role && it->index == of->index);
}

static void expect_same_node(const char *what, const MirrorNode *made, const MirrorNode *read)
{
	assert_non_null(read);
	if (made->role != read->role || made->index != read->index || made->bus != read->bus ||
	    made->slot != read->slot || made->bus_nr != read->bus_nr || made->cell != read->cell ||
	    made->chassis != read->chassis || made->member != read->member ||
	    !bdf_equal(&made->guest, &read->guest))
		fail_msg("%s: a %s of index %d, at %s, is read as a %s of index %d, at %s", what,
			 mirror_role_to_string(made->role), made->index, BDF_TEXT(&made->guest),
			 mirror_role_to_string(read->role), read->index, BDF_TEXT(&read->guest));
}

/* Written into the definition it is found there again, and taken out nothing of it is left. */
static void expect_read_back(const char *what, DomainXml *xml, const MirrorTree *tree,
			     const PciFunction *const *members, size_t n)
{
	_cleanup_(mirror_tree_freep) MirrorTree *all = NULL, *part = NULL, *moved = NULL;
	_cleanup_free_ char *before = domain_xml_to_text(xml), *after = NULL, *flaw = NULL;
	_cleanup_(domain_xml_freep) DomainXml *skimmed = NULL;
	_cleanup_free_ char *text = NULL;
	DomainXmlGpu gpus[MEMBERS_MAX] = { 0 };
	Bdf addresses[MEMBERS_MAX];
	bool changed;

	for (size_t i = 0; i < n; i++) {
		addresses[i] = members[i]->bdf;
		gpus[i].functions[gpus[i].n_functions++] = addresses[i];
	}
	assert_null(domain_xml_mirror(xml));
	assert_int_equal(domain_xml_add_group(xml, "pair.0", gpus, n, tree, NULL), 0);
	/* As each look reads it. */
	text = domain_xml_to_text(xml);
	assert_int_equal(domain_xml_skim(text, &skimmed, NULL), 0);
	all = domain_xml_mirror(skimmed);
	part = mirror_tree_part(all, addresses, n);
	assert_non_null(part);
	assert_int_equal(part->n_nodes, tree->n_nodes);
	for (size_t i = 0; i < tree->n_nodes; i++)
		expect_same_node(what, &tree->nodes[i], same_place(part, &tree->nodes[i]));
	flaw = mirror_flaw(all, true, members, n, 2);
	if (flaw)
		fail_msg("%s: %s", what, flaw);
	domain_xml_remove_group(xml, "pair.0", addresses, n, &changed);
	after = domain_xml_to_text(xml);
	assert_string_equal(before, after);
	/* Where the same numbers are free it gets the same. */
	moved = mirror_tree_copy(part);
	assert_int_equal(mirror_number(moved, xml, NULL), 0);
	assert_true(mirror_tree_equal(moved, part));
}

static char *describe(const HostModel *h, const char *host)
{
	_cleanup_(domain_xml_freep) DomainXml *xml =
		domain(Q35 ACPI CELLS PLACED, "<memballoon model='none'/>");
	_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	const PciFunction *members[MEMBERS_MAX];
	MirrorFacts facts = { .xml = xml, .members = members, .n_nodes = 2 };
	char *text = NULL;
	size_t size;
	FILE *f;

	facts.n_members = members_of(h, members);
	if (mirror_make(&facts, &tree, &problem) != 0)
		return strf("refused: %s\n", problem->cause);
	expect_sound(host, tree);
	expect_same_distances(host, tree, members, facts.n_members, facts.n_nodes);
	expect_read_back(host, xml, tree, members, facts.n_members);
	expect_seen(xml, tree, members, facts.n_members);
	f = open_memstream(&text, &size);
	for (size_t i = 0; i < tree->n_nodes; i++)
		print_node(f, tree, &tree->nodes[i]);
	assert_int_equal(fclose(f), 0);
	return text;
}

static bool as_expected(int fd, const char *host)
{
	_cleanup_free_ char *name = strf("%s.json", host), *beside = strf("%s.mirror", host);
	_cleanup_free_ char *json = NULL, *expected = NULL, *actual = NULL, *diff = NULL;
	_cleanup_(host_done) HostModel h = host_new();
	char *message = NULL;

	assert_int_equal(file_read_at(fd, name, FIXTURE_MAX, &json, NULL), 0);
	(void)file_read_at(fd, beside, FIXTURE_MAX, &expected, NULL);
	h.snapshot = pci_snapshot_free(h.snapshot);
	if (pci_snapshot_from_json(json, strlen(json), &h.snapshot, &message) < 0)
		fail_msg("%s: %s", host, str_or_empty(message));
	h.set = gpu_set_new(h.snapshot);
	actual = describe(&h, host);
	diff = text_diff(str_or_empty(expected), actual);
	if (*diff)
		fprintf(stderr, "%s: the tree differs from %s\n%s", host, beside, diff);
	return *diff == '\0';
}

TEST(every_host_has_the_tree_written_beside_it)
{
	int fd = open(FIXTURES "/hosts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strv_ char **names = NULL;
	bool good = true;

	assert_true(fd >= 0);
	assert_int_equal(dir_list(fd, ".json", &names), 0);
	assert_true(strv_length(names) >= 10);
	for (char **name = names; *name; name++) {
		(*name)[strlen(*name) - strlen(".json")] = '\0';
		good = as_expected(fd, *name) && good;
	}
	close(fd);
	assert_true(good);
}
