/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evidence that two GPUs are bridged by NVLink. Every way of knowing yields links of this one form,
 * and groups are made from links alone (core/group/resolve.h). Declarations and inference are here.
 * What was seen (NVML, registers, the guest) comes from evidence.h.
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
	char *source;		/* "groups.d/pair0.conf:1", "sysfs"; where it comes from */
	char *reasoning;	/* one sentence; NULL for declarations */
	/*
	 * Set when a look at both boards showed no link, or not the same link. A doubt joins
	 * nothing, and contradicts a group that claims the link. `count` is then 0.
	 */
	char *doubt;
	bool one_sided; /* a doubt: one of the two sees links, or another number of them */
	bool half; /* one-sided because nobody could see the other's: agrees with who says so */
} Link;

typedef struct Links {
	Link *items;
	size_t n_items;
	Bdf *alone; /* GPUs that are declared to be a group of one */
	size_t n_alone;
} Links;
DECLARE_FREE(Links, links_free)

/* The GPU that a selector means. NULL if none or several match; *ret_why then says so. */
Gpu *selector_resolve(const Selector *selector, const GpuSet *set, char **ret_why);

/* The members of a declaration on this host. */
typedef struct ResolvedMembers {
	Gpu *gpus[GROUP_GPUS_MAX]; /* the members found, by address; borrowed */
	size_t n_gpus;
	char *missing; /* "there is no GPU at 0000:41:00.0; …" when not all were; NULL otherwise */
} ResolvedMembers;
DECLARE_CLEAR(ResolvedMembers, resolved_members_clear)

/* If two members are the same GPU, one counts as found and one as missing. */
ResolvedMembers declaration_resolve(const Declaration *declaration, const GpuSet *set);

/* A declaration with a missing member yields no link, but one line in *notes. */
void links_from_declarations(Links *into, const Declarations *declarations, const GpuSet *set,
			     char ***notes);

/*
 * Infers the one pairing that sysfs leaves possible among the GPUs that no declaration names:
 * exactly two bridge-capable boards of one model and subsystem. Never from adjacency, never where a
 * second pairing is possible, and never on a host with an NVSwitch.
 */
void links_infer(Links *into, const GpuSet *set);

/* The observation, or doubt, that counts between two boards, in either order; NULL: none. */
const Link *links_find_observed(const Links *links, const Bdf *a, const Bdf *b);
/* One of its two boards is this one. */
bool link_has(const Link *link, const Bdf *bdf);
/* Neither declared nor inferred. */
bool link_is_observed(const Link *link);

/* For producers. Takes what the link owns. */
void links_add(Links *into, Link link);
