/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/mirror-tree.h"

#include "mirror-tree.inc"

const MirrorNode *mirror_tree_member(const MirrorTree *tree, size_t member)
{
	return FIND(tree->nodes, tree->n_nodes,
		    it->role == MIRROR_MEMBER && (size_t)it->member == member);
}
