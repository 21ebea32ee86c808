/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of indices, bus numbers, slots and cells a domain's XML leaves for a mirrored tree. */
#pragma once

#include "core/base/problem.h"
#include "core/domain/mirror-tree.h"
#include "core/domain/xml-tree.h"

#define MIRROR_BUSES 256
/* Bus numbers of pcie.0 that stay free: for root ports that somebody adds for a hotplug. */
#define MIRROR_SPARE_BUSES 2

typedef struct MirrorCell {
	unsigned id;
	int host_node; /* that all its memory is on; MIRROR_NONE: none, or several */
} MirrorCell;

typedef struct MirrorGuest {
	unsigned index;	       /* the first controller index that is free, and all above it */
	unsigned floor;	       /* pcie.0 needs the bus numbers below it */
	unsigned ceiling;      /* the lowest busNr of its expanders; MIRROR_BUSES: it has none */
	bool slots[PCI_SLOTS]; /* of pcie.0, that are used */
	bool chassis[MIRROR_BUSES]; /* that are used */
	MirrorCell *cells;
	size_t n_cells;
} MirrorGuest;
DECLARE_CLEAR(MirrorGuest, mirror_guest_clear)

/*
 * Into an empty one, which the caller clears, also after a PROBLEM: the guest can have no expander,
 * or what it has of them is not known.
 */
int mirror_guest_read(const DomainXml *xml, MirrorGuest *guest, Problem **ret_problem);

/* The first cell whose memory is on this node of the host, and on no other; MIRROR_NONE: none. */
int mirror_guest_cell(const MirrorGuest *guest, int host_node);

/* "its cell 0 is on node 0, its cell 1 on none or several": for a refusal. New. */
char *mirror_guest_cells_text(const MirrorGuest *guest);

/* Takes the cause. `remedy`: what is an alternative to --topology=flat, "…, or "; "": nothing. */
int mirror_refuse(Problem **ret_problem, char *cause, const char *remedy);
