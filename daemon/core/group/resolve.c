/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/resolve.h"

#include <string.h>

#include "core/group/check.h"
#include "core/group/links.h"
#include "core/group/resolver.h"
#include "util/text.h"

/* Drops members that an earlier declaration has. */
static int drop_owned(const Resolver *r, ResolvedMembers *members)
{
	size_t kept = 0;

	for (size_t i = 0; i < members->n_gpus; i++) {
		Gpu *gpu = members->gpus[i];
		char *missing;

		if (!resolver_is_owned(r, gpu)) {
			members->gpus[kept++] = gpu;
			continue;
		}
		missing =
			strf("%s%s%s is in another declared group", str_or_empty(members->missing),
			     members->missing ? "; " : "", BDF_TEXT(&gpu->lead->bdf));
		if (!missing)
			return -ENOMEM;
		free(members->missing);
		members->missing = missing;
	}
	members->n_gpus = kept;
	return 0;
}

static int add_declared(Resolver *r, const Declaration *declaration)
{
	ResolvedMembers members;
	Group group = { .provenance = PROVENANCE_DECLARED };
	int result;

	result = declaration_resolve(declaration, r->set, &members);
	if (result < 0)
		return result;
	result = drop_owned(r, &members);
	if (result >= 0 && members.missing)
		result = strv_appendf(&r->out->notes, "group %s (%s): %s", declaration->name,
				      declaration->source, members.missing);
	if (result >= 0) {
		group.name = strdup(declaration->name);
		group.source = strdup(declaration->source);
		group.reasoning = strf("declared in %s", declaration->source);
		group.fault = TAKE_PTR(members.missing);
		group.single = declaration->n_members == 1;
		result = resolver_add(r, members.gpus, members.n_gpus, &group);
	}
	resolved_members_clear(&members);
	return result;
}

/* What the group claims about this GPU: "declared with 0000:61:00.0 in groups.d/pair0.conf:1". */
static char *own_claim(const Group *group, const Gpu *gpu)
{
	_cleanup_strv_ char **others = NULL;
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; i < group->n_gpus; i++)
		if (group->gpus[i] != gpu &&
		    strv_append(&others, BDF_TEXT(&group->gpus[i]->lead->bdf)) < 0)
			return NULL;
	list = strv_join(others, ", ");
	if (!list)
		return NULL;
	if (group->provenance == PROVENANCE_DECLARED)
		return group->single ? strf("declared alone in %s", group->source)
				     : strf("declared with %s in %s", list, group->source);
	if (group->single)
		return strdup("taken for one without links");
	return strf("linked to %s by %s", list, group->source);
}

static int contradict(Group *group, const Gpu *gpu, const Bdf *other, const Link *link)
{
	_cleanup_free_ char *claim = own_claim(group, gpu), *when = utc_text(link->observed_usec);

	if (!claim || !when)
		return -ENOMEM;
	if (link->doubt)
		group->fault =
			strf("%s (%s, %s, %s), but %s is %s", link->doubt,
			     provenance_to_string(link->provenance), str_or_empty(link->source),
			     when, BDF_TEXT(&gpu->lead->bdf), claim);
	else
		group->fault = strf("%s is linked to %s, which is not a member (%s, %s, %s), but "
				    "%s",
				    BDF_TEXT(&gpu->lead->bdf), BDF_TEXT(other),
				    provenance_to_string(link->provenance),
				    str_or_empty(link->source), when, claim);
	group->seen_otherwise = true;
	return group->fault ? 0 : -ENOMEM;
}

static Group *owner_of(const Resolver *r, const Gpu *gpu)
{
	size_t owner = gpu ? r->owner[resolver_gpu_index(r, gpu)] : NO_OWNER;

	return owner == NO_OWNER ? NULL : &r->out->items[owner];
}

/*
 * A look saw a link that leaves a group. The declaration is wrong, the host has changed, or the
 * link is not what both ends say. Candidates claim nothing, so nothing contradicts them.
 */
static int note_contradictions(Resolver *r)
{
	for (size_t i = 0; i < r->links->n_items; i++) {
		const Link *link = &r->links->items[i];
		const Gpu *a = gpu_set_find(r->set, &link->a), *b = gpu_set_find(r->set, &link->b);
		Group *groups[2] = { owner_of(r, a), owner_of(r, b) };
		const Gpu *gpus[2] = { a, b };
		const Bdf *others[2] = { &link->b, &link->a };

		if (!link_is_observed(link) || (link->doubt && !link->one_sided) ||
		    links_find_observed(r->links, &link->a, &link->b) != link ||
		    groups[0] == groups[1])
			continue;
		for (size_t k = 0; k < 2; k++) {
			int result;

			if (!groups[k] || groups[k]->fault ||
			    groups[k]->provenance == PROVENANCE_NONE)
				continue;
			result = contradict(groups[k], gpus[k], others[k], link);
			if (result < 0)
				return result;
		}
	}
	return 0;
}

static int resolve_inferred(Resolver *r)
{
	for (size_t i = 0; i < r->links->n_items; i++) {
		const Link *link = &r->links->items[i];
		Gpu *ends[2];
		int result;

		if (link->provenance != PROVENANCE_INFERRED ||
		    !resolver_link_ends(r, link, &ends[0], &ends[1]) ||
		    resolver_unsettled(r, ends[0]))
			continue;
		result = resolver_add_observed(r, resolver_free_name(r, resolver_base_name(2)),
					       ends, 2, link);
		if (result < 0)
			return result;
	}
	return 0;
}

static int resolve_singles(Resolver *r)
{
	int result = 0;

	for (size_t i = 0; r->singles && result >= 0 && i < r->set->n_gpus; i++) {
		Gpu *gpu = &r->set->gpus[i];
		char *why = NULL;

		if (resolver_is_owned(r, gpu))
			continue;
		result = resolver_why_single(r, gpu, &why);
		if (result >= 0 && why)
			result = resolver_add_single(
				r, resolver_free_name(r, resolver_base_name(1)), gpu, why);
	}
	return result;
}

static int resolve_candidates(Resolver *r)
{
	size_t n = r->set->n_gpus;
	_cleanup_free_ Gpu **alike = calloc(n + 1, sizeof(Gpu *));

	if (!alike)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		Gpu *gpu = &r->set->gpus[i];
		Group group = { .provenance = PROVENANCE_NONE };
		const Group *unsettled;
		size_t n_alike = 0;
		int result;

		if (resolver_is_owned(r, gpu) || !gpu->board || gpu->board->kind != NVLINK_BRIDGE)
			continue;
		for (size_t k = i; k < n; k++)
			if (!resolver_is_owned(r, &r->set->gpus[k]) &&
			    gpu_same_model(gpu, &r->set->gpus[k]))
				alike[n_alike++] = &r->set->gpus[k];
		unsettled = resolver_unsettled(r, gpu);
		group.name = resolver_free_name(r, "unknown");
		group.source = strdup("sysfs");
		group.reasoning = group_candidates_reasoning(
			r->set, alike, n_alike, unsettled ? unsettled->name : NULL, r->links);
		result = resolver_add(r, alike, n_alike, &group);
		if (result < 0)
			return result;
	}
	return 0;
}

static int resolve_all(Resolver *r)
{
	int result;

	for (size_t i = 0; i < r->set->n_gpus; i++)
		r->owner[i] = NO_OWNER;
	for (size_t i = 0; i < r->declarations->n_items; i++) {
		result = add_declared(r, &r->declarations->items[i]);
		if (result < 0)
			return result;
	}
	result = note_contradictions(r);
	if (result < 0)
		return result;
	result = group_resolve_recorded(r);
	if (result >= 0)
		result = group_resolve_observed(r);
	if (result < 0)
		return result;
	result = resolve_inferred(r);
	if (result >= 0)
		result = resolve_singles(r);
	if (result >= 0)
		result = resolve_candidates(r);
	/* Again, for the groups that were made since. */
	return result < 0 ? result : note_contradictions(r);
}

static int compare_groups(const void *a, const void *b)
{
	const Group *x = a, *y = b;

	return group_compare_names(x->name, y->name);
}

int groups_resolve(const GpuSet *set, const Declarations *declarations, const Links *links,
		   const Assignments *assignments, const Policy *policy, GroupSet **ret)
{
	_cleanup_(group_set_freep) GroupSet *out = calloc(1, sizeof(*out));
	_cleanup_free_ size_t *owner = calloc(set->n_gpus + 1, sizeof(size_t));
	Resolver resolver = {
		.set = set,
		.declarations = declarations,
		.links = links,
		.assignments = assignments,
		.singles = policy->single_gpus,
		.out = out,
		.owner = owner,
	};
	int r;

	if (!out || !owner)
		return -ENOMEM;
	out->snapshot = set->snapshot;
	r = resolve_all(&resolver);
	if (r < 0)
		return r;
	for (size_t i = 0; i < out->n_items; i++) {
		r = group_check(&out->items[i], links);
		if (r < 0)
			return r;
	}
	r = group_note_ungrouped(set, &out->notes);
	if (r < 0)
		return r;
	if (out->n_items > 1)
		qsort(out->items, out->n_items, sizeof(Group), compare_groups);
	*ret = TAKE_PTR(out);
	return 0;
}
