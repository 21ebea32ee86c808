/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the tree by which a guest sees a group's members as far apart as the host does. Pure: from
 * the host's snapshot and a domain's XML comes a tree (core/domain/mirror-tree.h), or one problem.
 *
 * It has only what distances need (core/pci/pcie-distance.h):
 *   SYS   expanders in several cells
 *   NODE  two expanders of one cell
 *   PHB   two root ports of one expander
 *   PXB   two switches below a switch, below one root port
 *   PIX   two downstream ports of one switch
 * A member that is near to no other one has a root port of its own, and no switch.
 *
 * Numbers. Each bridge takes one bus number of its expander, which has those from its busNr up to
 * the next higher expander's. libvirt's own choice of a busNr leaves room for one root port, and
 * says nothing when there are more. So ours are the highest below those of all expanders that the
 * domain has, and pcie.0 keeps the numbers of what is on it, and of two more root ports, for a
 * hotplug. Controllers have the indices behind all that the domain uses, without a gap: libvirt
 * makes a root port for each index that is left out.
 *
 * Versions are not looked at: neither libvirt's nor QEMU's. Nor is it known here whether the domain
 * runs: controllers cannot be hotplugged.
 */
#pragma once

#include "core/base/problem.h"
#include "core/domain/mirror-tree.h"
#include "core/domain/xml.h"
#include "core/pci/pcie-distance.h"

/* All borrowed. */
typedef struct MirrorFacts {
	const DomainXml *xml; /* the definition, without the group */
	/*
	 * What gets a slot each: the GPUs' leading functions, then the companions, in the order of
	 * domain_xml_add_group().
	 */
	const PciFunction *const *members;
	size_t n_members;
	size_t n_nodes; /* NUMA nodes of the host, as of pcie_distance() */
} MirrorFacts;

/*
 * 0 with *ret, or PROBLEM: the domain's machine type, or its guest, has no expanders; it has no
 * cell for a NUMA node; it has too few indices, bus numbers or slots; its own expanders' numbers
 * are not known; or the host's distances are not known, or are such that no tree has them. What it
 * returns has the host's distances: they were compared.
 */
int mirror_make(const MirrorFacts *facts, MirrorTree **ret, Problem **ret_problem);

/*
 * Gives a tree, which may be of another definition, the numbers that this one leaves. 0, or PROBLEM
 * as of mirror_make(), and for a tree that cannot be.
 */
int mirror_number(MirrorTree *tree, const DomainXml *xml, Problem **ret_problem);

/*
 * What of a definition's tree (DomainUse) is not as the members' topology has it: "0000:41:00.0 and
 * 0000:61:00.0 are PIX on the host, and would be PHB in the guest". NULL: nothing. `n_nodes` as of
 * pcie_distance(). New.
 */
char *mirror_flaw(const MirrorTree *tree, bool mirrored, const PciFunction *const *members,
		  size_t n_members, size_t n_nodes);

/* How far apart the guest sees two members of the tree; PCIE_DISTANCE_MAX_: that is not known. */
PcieDistance mirror_distance(const MirrorTree *tree, size_t a, size_t b);
