/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/mirror/mirror.h"

#include "core/mirror/guest.h"
#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

/* An expander has as many slots, and an upstream port. */
#define MEMBERS_MAX PCI_SLOTS

typedef struct Builder {
	const MirrorFacts *facts;
	MirrorGuest *guest;
	MirrorTree *tree;
	Problem **ret_problem;
} Builder;

/*
 * The first of those members that are so near to it. It stands for all of them: where being near is
 * not passed on from one to the next, the comparison at the end finds that.
 */
static size_t first_near(const MirrorFacts *facts, size_t member, PcieDistance distance)
{
	size_t i = 0;

	while (i < member &&
	       pcie_distance(facts->members[i], facts->members[member], facts->n_nodes) > distance)
		i++;
	return i;
}

static bool is_first(const MirrorFacts *facts, size_t member, PcieDistance distance)
{
	return first_near(facts, member, distance) == member;
}

/* ---- the nodes: each bridge, then what is below it ---- */

static int add(Builder *b, MirrorRole role, int parent, Bdf host)
{
	int node = mirror_tree_add(b->tree, role, parent, &(Bdf){ 0 });

	b->tree->nodes[node].host = host;
	return node;
}

/*
 * Those that are so near to this one, below a port: PXB, then PIX, then itself. What is `alone` on
 * a root port needs no switch; each one of several has a downstream port of one.
 */
static void add_near(Builder *b, size_t first, PcieDistance near, int port, bool alone)
{
	const MirrorFacts *facts = b->facts;
	PcieDistance nearer;
	size_t n = 0;
	int upstream;

	if (near == PCIE_SELF) {
		int node = add(b, MIRROR_MEMBER, port, facts->members[first]->bdf);

		b->tree->nodes[node].member = (int)first;
		return;
	}
	nearer = (PcieDistance)(near - 1);
	for (size_t i = first; i < facts->n_members; i++)
		n += first_near(facts, i, near) == first && is_first(facts, i, nearer);
	if (n == 1 && alone) {
		add_near(b, first, nearer, port, true);
		return;
	}
	upstream = add(b, MIRROR_UPSTREAM, port, (Bdf){ 0 });
	for (size_t i = first; i < facts->n_members; i++)
		if (first_near(facts, i, near) == first && is_first(facts, i, nearer))
			add_near(b, i, nearer, add(b, MIRROR_DOWNSTREAM, upstream, (Bdf){ 0 }),
				 false);
}

static void add_expander(Builder *b, size_t first)
{
	const MirrorFacts *facts = b->facts;
	const PciFunction *lead = facts->members[first];
	Bdf root = lead->n_upstream > 0 ? lead->upstream[0] : lead->bdf;
	int expander;

	expander = add(b, MIRROR_EXPANDER, MIRROR_NONE,
		       (Bdf){ .segment = root.segment, .bus = root.bus });
	b->tree->nodes[expander].host_node =
		lead->numa_node == NUMA_NODE_NONE ? MIRROR_NONE : lead->numa_node;
	b->tree->nodes[expander].cell = mirror_guest_cell(b->guest, lead->numa_node);
	for (size_t i = first; i < facts->n_members; i++)
		if (first_near(facts, i, PCIE_PHB) == first && is_first(facts, i, PCIE_PXB)) {
			const PciFunction *f = facts->members[i];

			add_near(b, i, PCIE_PXB,
				 add(b, MIRROR_ROOT_PORT, expander,
				     f->n_upstream > 0 ? f->upstream[0] : (Bdf){ 0 }),
				 true);
		}
}

/* ---- NUMA ---- */

/* With another member the distance depends on the node. */
static bool needs_node(const Builder *b, size_t member, PcieDistance from)
{
	return SOME_OF(b->facts->members, b->facts->n_members,
		       pcie_distance(it, b->facts->members[member], b->facts->n_nodes) >= from);
}

static int refuse_cell(const Builder *b, const PciFunction *member)
{
	_cleanup_free_ char *cells = mirror_guest_cells_text(b->guest);
	_cleanup_free_ char *remedy =
		strf("give it a <cell>, and in its <numatune> a <memnode cellid=… mode='strict' "
		     "nodeset='%d'/>, or ",
		     member->numa_node);

	if (member->numa_node == NUMA_NODE_NONE)
		return mirror_refuse(b->ret_problem,
				     strf("the host's firmware does not tell the NUMA node of %s",
					  BDF_TEXT(&member->bdf)),
				     "");
	return mirror_refuse(
		b->ret_problem,
		strf("%s is on NUMA node %d, and no cell of the guest has its memory on "
		     "that node alone: %s",
		     BDF_TEXT(&member->bdf), member->numa_node, cells),
		remedy);
}

/* In a guest with one cell, or none, all is on one node, whatever an expander says. */
static int check_nodes(const Builder *b)
{
	PcieDistance from = b->guest->n_cells > 1 ? PCIE_NODE : PCIE_SYS;
	PcieDistance unnamed = b->facts->n_nodes == 1 ? from : PCIE_NODE;

	/* First what no cell would help. */
	for (int named = 0; named < 2; named++)
		for (size_t i = 0; i < b->facts->n_members; i++) {
			int node = b->facts->members[i]->numa_node;

			if ((node != NUMA_NODE_NONE) == named &&
			    mirror_guest_cell(b->guest, node) == MIRROR_NONE &&
			    needs_node(b, i, named ? from : unnamed))
				return refuse_cell(b, b->facts->members[i]);
		}
	return 0;
}

/* ---- numbers ---- */

/* A group that leaves before others leaves them its controllers, as long as they are there. */
#define RELEASE_ALL "release the domain's groups and assign them anew, "

static int check_room(const Builder *b, unsigned needed)
{
	const MirrorGuest *guest = b->guest;
	size_t chassis = COUNT(guest->chassis, MIRROR_BUSES, !*it);
	size_t n_expanders = COUNT(b->tree->nodes, b->tree->n_nodes, it->role == MIRROR_EXPANDER);

	if (guest->index + needed > MIRROR_BUSES || chassis < needed)
		return mirror_refuse(
			b->ret_problem,
			strf("the tree has %u controllers, and of 256 indices those from "
			     "%u on are free, of 256 chassis %zu are free",
			     needed, guest->index, chassis),
			RELEASE_ALL "remove unused PCI controllers, or ");
	if (guest->floor + needed > guest->ceiling)
		return mirror_refuse(
			b->ret_problem,
			strf("the tree needs %u bus numbers; free between those of pcie.0 "
			     "and %s: %u",
			     needed, guest->ceiling < MIRROR_BUSES ? "its lowest expander" : "255",
			     guest->ceiling > guest->floor ? guest->ceiling - guest->floor : 0),
			RELEASE_ALL
			"remove unused PCI controllers, give its expanders a higher busNr, or ");
	if (n_expanders > COUNT(guest->slots, PCI_LAST_PORT_SLOT, !*it))
		return mirror_refuse(
			b->ret_problem,
			strf("%zu expanders are needed, and pcie.0 has too few free slots",
			     n_expanders),
			RELEASE_ALL "remove devices from it, or ");
	return 0;
}

static unsigned take_chassis(MirrorGuest *guest, unsigned chassis)
{
	while (guest->chassis[chassis])
		chassis = (chassis + 1) % MIRROR_BUSES;
	guest->chassis[chassis] = true;
	return chassis;
}

static unsigned earlier_siblings(const MirrorTree *tree, size_t node)
{
	return (unsigned)COUNT(tree->nodes, node, it->parent == tree->nodes[node].parent);
}

/*
 * The controllers' indices are in the order in which firmware numbers their buses, so both grow
 * together, over all expanders.
 */
static int number(Builder *b)
{
	MirrorTree *tree = b->tree;
	int needed = (int)COUNT(tree->nodes, tree->n_nodes, it->role != MIRROR_MEMBER), at = 0;
	int r = check_room(b, (unsigned)needed);

	if (r != 0)
		return r;
	for (size_t i = 0; i < tree->n_nodes; i++) {
		MirrorNode *node = &tree->nodes[i];
		bool top = node->role == MIRROR_EXPANDER;

		if (!top)
			node->bus = (unsigned)tree->nodes[node->parent].index;
		if (node->role == MIRROR_MEMBER)
			continue;
		node->slot = top ? xml_take_slot(b->guest->slots) : earlier_siblings(tree, i);
		node->index = (int)b->guest->index + at;
		if (top)
			node->bus_nr = (int)b->guest->ceiling - needed + at;
		else if (node->role != MIRROR_UPSTREAM)
			node->chassis = take_chassis(b->guest, (unsigned)node->index);
		at++;
	}
	mirror_tree_find_guest(tree);
	return 0;
}

/* ---- distances ---- */

/* A definition may have a deeper one, which is not ours. */
#define DEPTH_MAX 8

PcieDistance mirror_distance(const MirrorTree *tree, size_t a, size_t b)
{
	const MirrorNode *ends[] = { mirror_tree_member(tree, a), mirror_tree_member(tree, b) };
	PciFunction functions[2] = { 0 };
	Bdf upstream[2][DEPTH_MAX];

	for (size_t i = 0; i < 2; i++) {
		const MirrorNode *node = ends[i];
		size_t n = DEPTH_MAX;

		if (!node)
			return PCIE_DISTANCE_MAX_;
		functions[i].bdf = node->guest;
		for (node = &tree->nodes[node->parent]; node->parent != MIRROR_NONE;
		     node = &tree->nodes[node->parent]) {
			if (n == 0)
				return PCIE_DISTANCE_MAX_;
			upstream[i][--n] = node->guest;
		}
		functions[i].upstream = &upstream[i][n];
		functions[i].n_upstream = DEPTH_MAX - n;
		functions[i].numa_node = node->cell == MIRROR_NONE ? NUMA_NODE_NONE : node->cell;
	}
	return pcie_distance(&functions[0], &functions[1], tree->n_cells);
}

/* The first two that are not as far apart as on the host; NULL: none are. */
static char *wrong_distance(const MirrorTree *tree, const PciFunction *const *members,
			    size_t n_members, size_t n_nodes)
{
	for (size_t i = 0; i < n_members; i++)
		for (size_t k = 0; k < i; k++) {
			PcieDistance host = pcie_distance(members[k], members[i], n_nodes);
			PcieDistance guest = mirror_distance(tree, k, i);

			if (host != guest)
				return strf("%s and %s are %s on the host, and would be %s in the "
					    "guest",
					    BDF_TEXT(&members[k]->bdf), BDF_TEXT(&members[i]->bdf),
					    pcie_distance_to_string(host),
					    str_or_empty(pcie_distance_to_string(guest)));
		}
	return NULL;
}

char *mirror_flaw(const MirrorTree *tree, bool mirrored, const PciFunction *const *members,
		  size_t n_members, size_t n_nodes)
{
	_cleanup_(mirror_tree_freep) MirrorTree *part = NULL;
	_cleanup_free_ Bdf *addresses = xcalloc(n_members + 1, sizeof(Bdf));

	for (size_t i = 0; i < n_members; i++) {
		bool there = mirror_tree_find(tree, &members[i]->bdf);

		addresses[i] = members[i]->bdf;
		if (there != mirrored)
			return strf("%s is %s a tree of gpupass' controllers",
				    BDF_TEXT(&addresses[i]), there ? "in" : "not in");
	}
	part = mirrored ? mirror_tree_part(tree, addresses, n_members) : NULL;
	return part ? wrong_distance(part, members, n_members, n_nodes) : NULL;
}

/* What libvirt and QEMU take: a definition that was edited by hand may have had another one. */
static bool may_stand(const MirrorTree *tree, size_t i)
{
	static const unsigned above[MIRROR_ROLE_MAX_] = {
		[MIRROR_ROOT_PORT] = 1U << MIRROR_EXPANDER,
		[MIRROR_UPSTREAM] = 1U << MIRROR_ROOT_PORT | 1U << MIRROR_DOWNSTREAM,
		[MIRROR_DOWNSTREAM] = 1U << MIRROR_UPSTREAM,
		[MIRROR_MEMBER] = 1U << MIRROR_ROOT_PORT | 1U << MIRROR_DOWNSTREAM,
	};
	const MirrorNode *node = &tree->nodes[i];
	bool one = node->role == MIRROR_UPSTREAM || node->role == MIRROR_MEMBER;

	return node->role == MIRROR_EXPANDER ||
	       (above[node->role] >> tree->nodes[node->parent].role & 1 &&
		(!one || earlier_siblings(tree, i) == 0));
}

static bool has_cell(const MirrorGuest *guest, int cell)
{
	return cell == MIRROR_NONE || SOME(guest->cells, guest->n_cells, (int)it->id == cell);
}

int mirror_number(MirrorTree *tree, const DomainXml *xml, Problem **ret_problem)
{
	_cleanup_(mirror_guest_clear) MirrorGuest guest = { 0 };
	Builder b = { .guest = &guest, .tree = tree, .ret_problem = ret_problem };
	int r = mirror_guest_read(xml, &guest, ret_problem);

	for (size_t i = 0; r == 0 && i < tree->n_nodes; i++)
		if (!may_stand(tree, i) || !has_cell(&guest, tree->nodes[i].cell))
			r = mirror_refuse(
				ret_problem,
				xstrdup("it was edited by hand, and now lacks a part or a "
					"cell of its tree"),
				"");
	return r == 0 ? number(&b) : r;
}

int mirror_make(const MirrorFacts *facts, MirrorTree **ret, Problem **ret_problem)
{
	_cleanup_(mirror_tree_freep) MirrorTree *tree = xcalloc(1, sizeof(*tree));
	_cleanup_(mirror_guest_clear) MirrorGuest guest = { 0 };
	Builder b = { facts, &guest, tree, ret_problem };
	char *wrong;
	int r;

	if (facts->n_members == 0 || facts->n_members > MEMBERS_MAX)
		return -EINVAL;
	r = mirror_guest_read(facts->xml, &guest, ret_problem);
	if (r == 0)
		r = check_nodes(&b);
	if (r != 0)
		return r;
	tree->n_cells = guest.n_cells;
	for (size_t i = 0; i < facts->n_members; i++)
		if (is_first(facts, i, PCIE_PHB))
			add_expander(&b, i);
	r = number(&b);
	if (r != 0)
		return r;
	wrong = wrong_distance(tree, facts->members, facts->n_members, facts->n_nodes);
	if (wrong)
		return mirror_refuse(ret_problem, wrong, "");
	*ret = TAKE_PTR(tree);
	return 0;
}
