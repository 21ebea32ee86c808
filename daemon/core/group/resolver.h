/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups that groups_resolve() has made so far. Only resolve.c and links.c use it. */
#pragma once

#include "core/group/group.h"

#define NO_OWNER SIZE_MAX

typedef struct Resolver {
	const GpuSet *set;
	const Declarations *declarations;
	const Links *links;
	const Assignments *assignments;
	bool singles; /* SingleGpus=: a GPU without a partner is a group by itself */
	GroupSet *out;
	size_t *owner; /* by index of GPU: index of its group, or NO_OWNER */
} Resolver;

size_t resolver_gpu_index(const Resolver *r, const Gpu *gpu);
bool resolver_is_owned(const Resolver *r, const Gpu *gpu);
/* A declaration has this name, or a group that was made already. */
bool resolver_name_taken(const Resolver *r, const char *name);
/* "pair3" for "pair"; new. */
char *resolver_free_name(const Resolver *r, const char *base);
const char *resolver_base_name(size_t n_gpus);
const Group *resolver_unsettled(const Resolver *r, const Gpu *gpu);
bool resolver_link_ends(const Resolver *r, const Link *link, Gpu **ret_a, Gpu **ret_b);
void resolver_add(Resolver *r, Gpu *const *gpus, size_t n_gpus, Group *group);
/* Why this GPU, which is in no group, has nothing that it could be linked to; NULL: it may have. */
char *resolver_why_single(const Resolver *r, const Gpu *gpu);
/* Adds a group of one. Takes both texts. */
void resolver_add_single(Resolver *r, char *name, Gpu *gpu, char *reasoning);
/* Adds a group with the provenance of the weakest link that it needs. Takes `name`. */
void resolver_add_observed(Resolver *r, char *name, Gpu *const *gpus, size_t n,
			   const Link *weakest);
