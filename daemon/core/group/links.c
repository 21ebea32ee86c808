/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/links.h"

#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

/*
 * Connected components of the observed links. Links are joined strongest first, so the last link
 * that joins a component is the weakest that it needs.
 */
typedef struct Component {
	size_t label;	     /* index of its first GPU */
	const Link *weakest; /* valid at the label's own index */
} Component;

static void join_components(Component *components, size_t n, size_t a, size_t b, const Link *link)
{
	size_t keep = components[a].label, drop = components[b].label;

	if (keep == drop)
		return;
	if (keep > drop) {
		size_t swap = keep;

		keep = drop;
		drop = swap;
	}
	for (size_t i = 0; i < n; i++)
		if (components[i].label == drop)
			components[i].label = keep;
	components[keep].weakest = link;
}

static bool has_gpu(Gpu *const *gpus, size_t n, const Gpu *gpu)
{
	for (size_t i = 0; i < n; i++)
		if (gpus[i] == gpu)
			return true;
	return false;
}

/* By links down to this provenance; only between these GPUs, NULL: between all. */
static Component *find_components(const Resolver *r, Provenance lowest, Gpu *const *gpus, size_t n)
{
	Component *components = xcalloc(r->set->n_gpus + 1, sizeof(Component));

	for (size_t i = 0; i < r->set->n_gpus; i++)
		components[i].label = i;
	for (int p = PROVENANCE_DECLARED - 1; p >= (int)lowest; p--)
		for (size_t i = 0; i < r->links->n_items; i++) {
			const Link *link = &r->links->items[i];
			Gpu *a, *b;

			if ((int)link->provenance == p && !link->doubt &&
			    resolver_link_ends(r, link, &a, &b) &&
			    (!gpus || (has_gpu(gpus, n, a) && has_gpu(gpus, n, b))) &&
			    (p > PROVENANCE_INFERRED || !resolver_unsettled(r, a)))
				join_components(components, r->set->n_gpus,
						resolver_gpu_index(r, a), resolver_gpu_index(r, b),
						link);
		}
	return components;
}

/* ---- what is assigned ---- */

/* The GPUs that a record names. *ret_missing: the first recorded function that is not there. */
static size_t recorded_gpus(const Resolver *r, const Assignment *record, Gpu **gpus,
			    const Bdf **ret_missing)
{
	size_t n = 0;

	*ret_missing = NULL;
	for (size_t i = 0; i < r->set->n_gpus; i++) {
		Gpu *gpu = &r->set->gpus[i];
		bool named = false;

		for (size_t k = 0; k < gpu->n_functions; k++)
			named |= assignment_function(record, &gpu->functions[k]->bdf) != NULL;
		if (named)
			gpus[n++] = gpu;
	}
	for (size_t i = 0; !*ret_missing && i < record->n_functions; i++)
		if (!gpu_set_find(r->set, &record->functions[i].bdf))
			*ret_missing = &record->functions[i].bdf;
	return n;
}

/* The weakest link that is needed to join exactly these GPUs; NULL: links do not join them. */
static const Link *find_weakest(const Resolver *r, Gpu *const *gpus, size_t n)
{
	_cleanup_free_ Component *components = find_components(r, PROVENANCE_INFERRED, gpus, n);
	size_t label = resolver_gpu_index(r, gpus[0]);

	for (size_t i = 1; i < n; i++)
		if (components[resolver_gpu_index(r, gpus[i])].label != label)
			return NULL;
	return components[label].weakest;
}

/* Adds a group that has no valid evidence any more, because a domain still has its GPUs. */
static void add_kept(Resolver *r, char *name, const Assignment *record, Gpu *const *gpus, size_t n,
		     const Bdf *missing)
{
	Group group = {
		.name = name,
		.provenance = PROVENANCE_NONE,
		.source = strf("record of %s", record->domain_name),
		.reasoning = strf("assigned to %s; only the record says so", record->domain_name),
		.fault = missing ? strf("the record of %s names %s, which is not there",
					record->domain_name, BDF_TEXT(missing))
				 : strf("assigned to %s, but nothing shows any more that its GPUs "
					"are linked",
					record->domain_name),
	};

	resolver_add(r, gpus, n, &group);
}

/* Adds no group if a declaration has some of the GPUs: it decides about the others, too. */
static void add_recorded(Resolver *r, const Assignment *record, Gpu **gpus)
{
	const Bdf *missing;
	size_t n = recorded_gpus(r, record, gpus, &missing);
	const Link *weakest;
	char *name, *why;

	for (size_t i = 0; i < n; i++)
		if (resolver_is_owned(r, gpus[i]))
			return;
	if (n == 0)
		return;
	weakest = missing ? NULL : find_weakest(r, gpus, n);
	why = n == 1 && !missing ? resolver_why_single(r, gpus[0]) : NULL;
	name = resolver_name_taken(r, record->group_name)
		       ? resolver_free_name(r, resolver_base_name(n))
		       : xstrdup(record->group_name);
	if (why)
		resolver_add_single(r, name, gpus[0], why);
	else if (weakest)
		resolver_add_observed(r, name, gpus, n, weakest);
	else
		add_kept(r, name, record, gpus, n, missing);
}

void group_resolve_recorded(Resolver *r)
{
	_cleanup_free_ Gpu **gpus = xcalloc(r->set->n_gpus + 1, sizeof(Gpu *));

	for (size_t i = 0; i < r->assignments->n_items; i++)
		add_recorded(r, r->assignments->items[i], gpus);
}

void group_resolve_observed(Resolver *r)
{
	size_t n = r->set->n_gpus;
	_cleanup_free_ Component *components = find_components(r, PROVENANCE_INFERRED + 1, NULL, 0);
	_cleanup_free_ Gpu **members = xcalloc(n + 1, sizeof(Gpu *));

	for (size_t i = 0; i < n; i++) {
		size_t n_members = 0;

		if (components[i].label != i || !components[i].weakest)
			continue;
		for (size_t k = i; k < n; k++)
			if (components[k].label == i)
				members[n_members++] = &r->set->gpus[k];
		resolver_add_observed(r, resolver_free_name(r, resolver_base_name(n_members)),
				      members, n_members, components[i].weakest);
	}
}
