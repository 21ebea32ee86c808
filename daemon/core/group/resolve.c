/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/resolve.h"

#include <string.h>

#include "core/group/check.h"
#include "core/group/links.h"
#include "core/group/resolver.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Drops members that an earlier declaration has. */
static void drop_owned(const Resolver *r, ResolvedMembers *members)
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
		free(members->missing);
		members->missing = missing;
	}
	members->n_gpus = kept;
}

static void add_declared(Resolver *r, const Declaration *declaration)
{
	ResolvedMembers members;
	Group group;

	members = declaration_resolve(declaration, r->set);
	drop_owned(r, &members);
	if (members.missing)
		strv_appendf(&r->out->notes, "group %s (%s): %s", declaration->name,
			     declaration->source, members.missing);
	group = (Group){
		.provenance = PROVENANCE_DECLARED,
		.name = xstrdup(declaration->name),
		.source = xstrdup(declaration->source),
		.reasoning = strf("declared in %s", declaration->source),
		.fault = TAKE_PTR(members.missing),
		.single = declaration->n_members == 1,
	};
	resolver_add(r, members.gpus, members.n_gpus, &group);
	resolved_members_clear(&members);
}

/* What the group claims about this GPU: "declared with 0000:61:00.0 in groups.d/pair0.conf:1". */
static char *own_claim(const Group *group, const Gpu *gpu)
{
	_cleanup_strv_ char **others = NULL;
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; i < group->n_gpus; i++)
		if (group->gpus[i] != gpu)
			strv_append(&others, BDF_TEXT(&group->gpus[i]->lead->bdf));
	list = strv_join(others, ", ");
	if (group->provenance == PROVENANCE_DECLARED)
		return group->single ? strf("declared alone in %s", group->source)
				     : strf("declared with %s in %s", list, group->source);
	if (group->single)
		return xstrdup("taken for one without links");
	return strf("linked to %s by %s", list, group->source);
}

static void contradict(Group *group, const Gpu *gpu, const Bdf *other, const Link *link)
{
	_cleanup_free_ char *claim = own_claim(group, gpu), *when = utc_text(link->observed_usec);

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
static void note_contradictions(Resolver *r)
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
		for (size_t k = 0; k < 2; k++)
			if (groups[k] && !groups[k]->fault &&
			    groups[k]->provenance != PROVENANCE_NONE)
				contradict(groups[k], gpus[k], others[k], link);
	}
}

static void resolve_inferred(Resolver *r)
{
	for (size_t i = 0; i < r->links->n_items; i++) {
		const Link *link = &r->links->items[i];
		Gpu *ends[2];

		if (link->provenance != PROVENANCE_INFERRED ||
		    !resolver_link_ends(r, link, &ends[0], &ends[1]) ||
		    resolver_unsettled(r, ends[0]))
			continue;
		resolver_add_observed(r, resolver_free_name(r, resolver_base_name(2)), ends, 2,
				      link);
	}
}

static void resolve_singles(Resolver *r)
{
	for (size_t i = 0; r->singles && i < r->set->n_gpus; i++) {
		Gpu *gpu = &r->set->gpus[i];
		char *why = resolver_is_owned(r, gpu) ? NULL : resolver_why_single(r, gpu);

		if (why)
			resolver_add_single(r, resolver_free_name(r, resolver_base_name(1)), gpu,
					    why);
	}
}

static void resolve_candidates(Resolver *r)
{
	size_t n = r->set->n_gpus;
	_cleanup_free_ Gpu **alike = xcalloc(n + 1, sizeof(Gpu *));

	for (size_t i = 0; i < n; i++) {
		Gpu *gpu = &r->set->gpus[i];
		Group group = { .provenance = PROVENANCE_NONE };
		const Group *unsettled;
		size_t n_alike = 0;

		if (resolver_is_owned(r, gpu) || !gpu->board || gpu->board->kind != NVLINK_BRIDGE)
			continue;
		for (size_t k = i; k < n; k++)
			if (!resolver_is_owned(r, &r->set->gpus[k]) &&
			    gpu_same_model(gpu, &r->set->gpus[k]))
				alike[n_alike++] = &r->set->gpus[k];
		unsettled = resolver_unsettled(r, gpu);
		group.name = resolver_free_name(r, "unknown");
		group.source = xstrdup("sysfs");
		group.reasoning = group_candidates_reasoning(
			r->set, alike, n_alike, unsettled ? unsettled->name : NULL, r->links);
		resolver_add(r, alike, n_alike, &group);
	}
}

static void resolve_all(Resolver *r)
{
	for (size_t i = 0; i < r->set->n_gpus; i++)
		r->owner[i] = NO_OWNER;
	for (size_t i = 0; i < r->declarations->n_items; i++)
		add_declared(r, &r->declarations->items[i]);
	note_contradictions(r);
	group_resolve_recorded(r);
	group_resolve_observed(r);
	resolve_inferred(r);
	resolve_singles(r);
	resolve_candidates(r);
	/* Again, for the groups that were made since. */
	note_contradictions(r);
}

static int compare_groups(const void *a, const void *b)
{
	const Group *x = a, *y = b;

	return group_compare_names(x->name, y->name);
}

GroupSet *groups_resolve(const GpuSet *set, const Declarations *declarations, const Links *links,
			 const Assignments *assignments, const Policy *policy)
{
	GroupSet *out = xcalloc(1, sizeof(*out));
	_cleanup_free_ size_t *owner = xcalloc(set->n_gpus + 1, sizeof(size_t));
	Resolver resolver = {
		.set = set,
		.declarations = declarations,
		.links = links,
		.assignments = assignments,
		.singles = policy->single_gpus,
		.out = out,
		.owner = owner,
	};

	out->snapshot = set->snapshot;
	resolve_all(&resolver);
	for (size_t i = 0; i < out->n_items; i++)
		group_check(&out->items[i], links);
	group_note_ungrouped(set, &out->notes);
	if (out->n_items > 1)
		qsort(out->items, out->n_items, sizeof(Group), compare_groups);
	return out;
}
