/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/resolver.h"

#include <string.h>

#include "util/text.h"

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

		if (!name || (!resolver_name_taken(r, name) &&
			      !assignments_find_group(r->assignments, name)))
			return name;
		free(name);
	}
}

const char *resolver_base_name(size_t n_gpus)
{
	return n_gpus == 2 ? "pair" : n_gpus == 4 ? "quad" : "group";
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

/*
 * Appends a group. Takes its strings, also on failure. A string that is NULL means that the caller
 * had no memory for it.
 */
int resolver_add(Resolver *r, Gpu *const *gpus, size_t n_gpus, Group *group)
{
	Group *bigger;

	group->gpus = calloc(n_gpus + 1, sizeof(Gpu *));
	bigger = reallocarray(r->out->items, r->out->n_items + 1, sizeof(Group));
	if (bigger)
		r->out->items = bigger;
	if (!group->gpus || !bigger || !group->name || !group->source || !group->reasoning) {
		group_clear(group);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_gpus; i++) {
		group->gpus[i] = gpus[i];
		r->owner[resolver_gpu_index(r, gpus[i])] = r->out->n_items;
	}
	group->n_gpus = n_gpus;
	r->out->items[r->out->n_items++] = *group;
	*group = (Group){ 0 };
	return 0;
}

/* Takes `name`. */
int resolver_add_observed(Resolver *r, char *name, Gpu *const *gpus, size_t n, const Link *weakest)
{
	Group group = {
		.name = name,
		.provenance = weakest->provenance,
		.source = strdup(str_or_empty(weakest->source)),
		.reasoning = weakest->reasoning
				     ? strdup(weakest->reasoning)
				     : strf("NVLinks between %s and %s were seen",
					    BDF_TEXT(&weakest->a), BDF_TEXT(&weakest->b)),
	};

	return resolver_add(r, gpus, n, &group);
}
