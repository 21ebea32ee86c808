/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI Express tree that a domain gets for a group's members, so that its guest sees them as far
 * apart as the host does. core/mirror makes it; domain_xml_add_group() writes it; a plan shows it.
 */
#pragma once

#include "core/base/json-struct.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

/* The names are libvirt's models of a controller. */
#define MIRROR_ROLES(X)                                                                            \
	X(MIRROR_EXPANDER, "pcie-expander-bus")                                                    \
	X(MIRROR_ROOT_PORT, "pcie-root-port")                                                      \
	X(MIRROR_UPSTREAM, "pcie-switch-upstream-port")                                            \
	X(MIRROR_DOWNSTREAM, "pcie-switch-downstream-port")                                        \
	X(MIRROR_MEMBER, "member")

DECLARE_ENUM(mirror_role, MirrorRole, MIRROR_ROLES, MIRROR_ROLE_MAX_);

#define MIRROR_NONE (-1)

/*
 * A controller, or a member. libvirt's addresses name a bus by the index of its controller; a guest
 * names it by a number that its firmware gives. These are two numbers: `index` and `guest.bus`.
 */
typedef struct MirrorNode {
	MirrorRole role;
	/* Its place in the tree, which is lower; MIRROR_NONE: pcie.0 (expanders) */
	int parent _json_(index);
	/* The address in the guest; of an expander its root bus. mirror_tree_find_guest() sets it. */
	Bdf guest _json_(as "address");
	int index _json_(index); /* libvirt's, of a controller; MIRROR_NONE: a member */
	/* <target> of an expander: its busNr, and its <node>, a cell; MIRROR_NONE: it has none */
	int bus_nr _json_(index);
	int cell _json_(index);
	/* On the host: a member's address, the root port, of an expander the root bus. Others: 0. */
	Bdf host _json_(if_any, as "host_address");
	int host_node _json_(index); /* of an expander: the NUMA node; MIRROR_NONE: not known */
	/* <address>: its bus, the parent's index (0: pcie.0), and its slot. The function is 0. */
	unsigned bus, slot _json_(no);
	unsigned chassis _json_(no); /* of a root port and of a downstream port */
	/* Of a member: its place among those that the tree was made of; else MIRROR_NONE. */
	int member _json_(no);
} MirrorNode;
DECLARE_JSON(MirrorNode, mirror_node_members)

typedef struct MirrorTree {
	MirrorNode *nodes; /* each behind its parent, as QEMU must make them */
	size_t n_nodes;
	size_t n_cells; /* that the guest has; 0: it has no NUMA */
} MirrorTree;
DECLARE_FREE(MirrorTree, mirror_tree_free)
DECLARE_DUP(MirrorTree, mirror_tree_copy)
DECLARE_EQUAL(MirrorTree, mirror_tree_equal)

/* A node that is at this address, below `parent`, and nothing else yet. Its place in the tree. */
int mirror_tree_add(MirrorTree *tree, MirrorRole role, int parent, const Bdf *at);
/*
 * Fills ->guest of all nodes, as firmware numbers buses: from busNr on, each bridge as it is found,
 * depth first (guest-bus.h). That is the order of their indices.
 */
void mirror_tree_find_guest(MirrorTree *tree);
/* The node of the member; NULL: the tree has none of this number. */
const MirrorNode *mirror_tree_member(const MirrorTree *tree, size_t member);
/* The node of the member with this address on the host; NULL, also of no tree: there is none. */
const MirrorNode *mirror_tree_find(const MirrorTree *tree, const Bdf *host);
/*
 * Only these members, which get their place in the list as their number, and what is above them.
 * NULL: the tree, which may be NULL, lacks one of them. New.
 */
MirrorTree *mirror_tree_part(const MirrorTree *tree, const Bdf *members, size_t n);
