/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/mirror-tree.h"

#include "util/grow.h"
#include "util/xalloc.h"

#include "mirror-tree.inc"

int mirror_tree_add(MirrorTree *tree, MirrorRole role, int parent, const Bdf *at)
{
	*GROW(tree->nodes, tree->n_nodes) = (MirrorNode){
		.role = role,
		.parent = parent,
		.guest = { .function = at->function },
		.index = MIRROR_NONE,
		.bus_nr = MIRROR_NONE,
		.cell = MIRROR_NONE,
		.host_node = MIRROR_NONE,
		.bus = at->bus,
		.slot = at->device,
		.member = MIRROR_NONE,
	};
	return (int)tree->n_nodes - 1;
}

void mirror_tree_find_guest(MirrorTree *tree)
{
	EACH (MirrorNode, node, tree->nodes, tree->n_nodes) {
		const MirrorNode *above = node, *root = node;

		if (node->parent != MIRROR_NONE)
			above = root = &tree->nodes[node->parent];
		while (root->parent != MIRROR_NONE)
			root = &tree->nodes[root->parent];
		node->guest.bus = (uint8_t)(root->bus_nr + above->index - root->index);
		node->guest.device = node == root ? 0 : (uint8_t)node->slot;
	}
}

const MirrorNode *mirror_tree_member(const MirrorTree *tree, size_t member)
{
	return FIND(tree->nodes, tree->n_nodes,
		    it->role == MIRROR_MEMBER && (size_t)it->member == member);
}

const MirrorNode *mirror_tree_find(const MirrorTree *tree, const Bdf *host)
{
	return tree ? FIND(tree->nodes, tree->n_nodes,
			   it->role == MIRROR_MEMBER && bdf_equal(&it->host, host))
		    : NULL;
}

static MirrorNode *copy_node(const MirrorNode *node, const int *places, MirrorTree *part)
{
	MirrorNode *copy = GROW(part->nodes, part->n_nodes);

	*copy = *node;
	if (node->parent != MIRROR_NONE)
		copy->parent = places[node->parent];
	return copy;
}

/* The members come last, in the list's order: libvirt has devices in another one, by their kind. */
MirrorTree *mirror_tree_part(const MirrorTree *tree, const Bdf *members, size_t n)
{
	_cleanup_(mirror_tree_freep) MirrorTree *part = xcalloc(1, sizeof(*part));
	size_t n_nodes = tree ? tree->n_nodes : 0;
	_cleanup_free_ int *places = xcalloc(n_nodes + 1, sizeof(int)); /* first: what is needed */
	const MirrorNode *node;

	for (size_t i = 0; i < n; i++) {
		node = mirror_tree_find(tree, &members[i]);
		if (!node)
			return NULL;
		for (int up = node->parent; up != MIRROR_NONE; up = tree->nodes[up].parent)
			places[up] = 1;
	}
	for (size_t i = 0; i < n_nodes; i++)
		if (places[i] > 0) {
			places[i] = (int)part->n_nodes;
			copy_node(&tree->nodes[i], places, part);
		}
	for (size_t i = 0; i < n; i++) {
		node = mirror_tree_find(tree, &members[i]);
		copy_node(node, places, part)->member = (int)i;
	}
	part->n_cells = tree ? tree->n_cells : 0;
	return tree ? TAKE_PTR(part) : NULL;
}
