/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/resolver.h"

#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

size_t resolver_gpu_index(const Resolver *r, const Gpu *gpu)
{
	return (size_t)(gpu - r->set->gpus);
}

bool resolver_is_owned(const Resolver *r, const Gpu *gpu)
{
	return r->owner[resolver_gpu_index(r, gpu)] != NO_OWNER;
}

bool resolver_name_taken(const Resolver *r, const char *name)
{
	for (size_t i = 0; i < r->declarations->n_items; i++)
		if (str_equal(r->declarations->items[i].name, name))
			return true;
	return group_set_find(r->out, name) != NULL;
}

/*
 * pair0, pair1 …: the first number that no declaration, no other group and no assignment has. An
 * assignment counts even when its boards are gone: an operator who releases it by name must not hit
 * another group.
 */
char *resolver_free_name(const Resolver *r, const char *base)
{
	for (unsigned n = 0;; n++) {
		char *name = strf("%s%u", base, n);

		if (!resolver_name_taken(r, name) && !assignments_find_group(r->assignments, name))
			return name;
		free(name);
	}
}

const char *resolver_base_name(size_t n_gpus)
{
	return n_gpus == 1 ? "solo" : n_gpus == 2 ? "pair" : n_gpus == 4 ? "quad" : "group";
}

/*
 * A declaration with a missing member may mean boards that moved to other slots. Until that is
 * settled, nothing is inferred about boards of its model. If none of its members was found, nothing
 * is inferred at all.
 */
const Group *resolver_unsettled(const Resolver *r, const Gpu *gpu)
{
	for (size_t i = 0; i < r->out->n_items; i++) {
		const Group *group = &r->out->items[i];

		if (group->provenance != PROVENANCE_DECLARED || !group->fault)
			continue;
		if (group->n_gpus == 0 || gpu_same_model(group->gpus[0], gpu))
			return group;
	}
	return NULL;
}

/* Finds both ends of a link as GPUs that are in no group yet. False if there are none. */
bool resolver_link_ends(const Resolver *r, const Link *link, Gpu **ret_a, Gpu **ret_b)
{
	Gpu *a = gpu_set_find(r->set, &link->a), *b = gpu_set_find(r->set, &link->b);

	if (!a || !b || a == b || resolver_is_owned(r, a) || resolver_is_owned(r, b))
		return false;
	*ret_a = a;
	*ret_b = b;
	return true;
}

/* Appends a group. Takes its strings. */
void resolver_add(Resolver *r, Gpu *const *gpus, size_t n_gpus, Group *group)
{
	group->gpus = xcalloc(n_gpus + 1, sizeof(Gpu *));
	r->out->items = xreallocarray(r->out->items, r->out->n_items + 1, sizeof(Group));
	for (size_t i = 0; i < n_gpus; i++) {
		group->gpus[i] = gpus[i];
		r->owner[resolver_gpu_index(r, gpus[i])] = r->out->n_items;
	}
	group->n_gpus = n_gpus;
	r->out->items[r->out->n_items++] = *group;
}

/* Takes `name`. */
void resolver_add_observed(Resolver *r, char *name, Gpu *const *gpus, size_t n, const Link *weakest)
{
	Group group = {
		.name = name,
		.provenance = weakest->provenance,
		.source = xstrdup(str_or_empty(weakest->source)),
		.reasoning = weakest->reasoning
				     ? xstrdup(weakest->reasoning)
				     : strf("NVLinks between %s and %s were seen",
					    BDF_TEXT(&weakest->a), BDF_TEXT(&weakest->b)),
	};

	resolver_add(r, gpus, n, &group);
}

/* A look saw it linked, or did not see alike what two boards tell of their links. */
static bool is_seen_linked(const Resolver *r, const Gpu *gpu)
{
	for (size_t i = 0; i < r->links->n_items; i++)
		if (link_has(&r->links->items[i], &gpu->lead->bdf))
			return true;
	return false;
}

/* All its links are known to go elsewhere. */
static bool is_settled(const Resolver *r, const Gpu *gpu)
{
	size_t owner = r->owner[resolver_gpu_index(r, gpu)];
	const Group *group = owner == NO_OWNER ? NULL : &r->out->items[owner];

	return group && !group->fault && group->provenance > PROVENANCE_INFERRED &&
	       (group->single || group->n_gpus >= gpu->board->group_size);
}

/* Every other board that a bridge could tie to it is in a group that is complete. */
static bool has_no_partner(const Resolver *r, const Gpu *gpu)
{
	for (size_t i = 0; i < r->set->n_gpus; i++) {
		const Gpu *other = &r->set->gpus[i];

		if (other != gpu && other->board &&
		    str_equal(other->board->name, gpu->board->name) && !is_settled(r, other))
			return false;
	}
	return true;
}

char *resolver_why_single(const Resolver *r, const Gpu *gpu)
{
	const Board *board = gpu->board;

	if (!board || is_seen_linked(r, gpu))
		return NULL;
	if (board->kind == NVLINK_NONE)
		return strf("%s has no NVLink", board->name);
	if (board->kind == NVLINK_BRIDGE && r->set->n_nvswitches == 0 &&
	    !resolver_unsettled(r, gpu) && has_no_partner(r, gpu))
		return strf("no other %s is left that it could be bridged to", board->name);
	return NULL;
}

void resolver_add_single(Resolver *r, char *name, Gpu *gpu, char *reasoning)
{
	Group group = {
		.name = name,
		.provenance = PROVENANCE_SINGLE,
		.single = true,
		.source = xstrdup("sysfs"),
		.reasoning = reasoning,
	};

	resolver_add(r, &gpu, 1, &group);
}
