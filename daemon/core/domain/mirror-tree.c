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

/* A copy without the nodes whose number is 0. */
static MirrorTree *copy_numbered(const MirrorTree *tree, const size_t *numbers)
{
	MirrorTree *copy = xcalloc(1, sizeof(*copy));
	_cleanup_free_ int *places = xcalloc(tree->n_nodes, sizeof(int));

	for (size_t i = 0; i < tree->n_nodes; i++) {
		MirrorNode *node;

		if (numbers[i] == 0)
			continue;
		places[i] = (int)copy->n_nodes;
		node = GROW(copy->nodes, copy->n_nodes);
		*node = tree->nodes[i];
		if (node->parent != MIRROR_NONE)
			node->parent = places[node->parent];
		if (node->role == MIRROR_MEMBER)
			node->member = (int)numbers[i] - 1;
	}
	copy->n_cells = tree->n_cells;
	return copy;
}

MirrorTree *mirror_tree_part(const MirrorTree *tree, const Bdf *members, size_t n)
{
	_cleanup_free_ size_t *numbers = xcalloc(tree ? tree->n_nodes + 1 : 1, sizeof(size_t));

	for (size_t i = 0; i < n; i++) {
		const MirrorNode *node = mirror_tree_find(tree, &members[i]);

		if (!node)
			return NULL;
		numbers[node - tree->nodes] = i + 1;
		for (int up = node->parent; up != MIRROR_NONE; up = tree->nodes[up].parent)
			numbers[up] = 1;
	}
	return tree ? copy_numbered(tree, numbers) : NULL;
}
