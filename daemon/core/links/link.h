/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evidence that two GPUs are NVLink-bridged. Every way of knowing yields links of this one form;
 * groups are made from links alone (core/group/resolve.h). Declarations and inference are here; what
 * was seen (NVML, registers, the guest) comes from evidence.h.
 */
#pragma once

#include "core/links/declaration.h"
#include "gpupass/states.h"

DECLARE_STRING_TABLE(provenance, Provenance);

typedef struct Link {
	Bdf a, b; /* leading functions, a < b */
	Provenance provenance;
	unsigned count;		/* active NVLinks between the two; 0: not known */
	uint64_t observed_usec; /* CLOCK_REALTIME; 0: not an observation */
	char *group_name;	/* a declaration's name; NULL otherwise */
	char *source;		/* "groups.d/pair0.conf:1", "sysfs"; where it comes from */
	char *reasoning;	/* one sentence; NULL for declarations */
	/*
	 * Set: a look at both boards did not show a link, or not the same one. It ties nothing
	 * together, and speaks against who says otherwise. `count` is then 0.
	 */
	char *doubt;
	bool guest;	/* a guest's word: link_outweighs() */
	bool one_sided; /* of a doubt: one of the two does see links, or sees another number */
} Link;

typedef struct Links {
	Link *items;
	size_t n_items;
} Links;

/* A declaration whose members cannot all be found yields no link but one line in *notes. */
int links_from_declarations(Links *into, const Declarations *declarations, const GpuSet *set,
			    char ***notes);

/*
 * Infers the one pairing that sysfs leaves possible, over the GPUs that no declaration names:
 * exactly two bridge-capable boards of one model and subsystem. Never by adjacency; never where a
 * second pairing could be; never beside an NVSwitch.
 */
int links_infer(Links *into, const GpuSet *set);

/*
 * Of two links between the same boards: the later look counts, and of one time the stronger. A
 * guest may lie, so that against the host's own look it counts where it sees no more than that.
 */
bool link_outweighs(const Link *link, const Link *other);
/* The observation that counts between two boards, be it a doubt; NULL: none. In either order. */
const Link *links_find_observed(const Links *links, const Bdf *a, const Bdf *b);
/* Neither declared nor inferred. */
bool link_is_observed(const Link *link);

/* For producers. Takes what *link owns, also on failure. */
int links_add(Links *into, Link *link);
void link_clear(Link *link);

Links *links_free(Links *links);
DEFINE_CLEANUP(Links, links_free)
