/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/resolve.h"

#include "core/group/check.h"
#include "core/group/companion.h"
#include "util/text.h"
#include "util/xalloc.h"

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

static size_t gpu_index(const Resolver *r, const Gpu *gpu)
{
	return (size_t)(gpu - r->set->gpus);
}

static bool is_owned(const Resolver *r, const Gpu *gpu)
{
	return r->owner[gpu_index(r, gpu)] != NO_OWNER;
}

/* A declaration has this name, or a group that was made already. */
static bool name_taken(const Resolver *r, const char *name)
{
	return SOME(r->declarations->items, r->declarations->n_items, str_equal(it->name, name)) ||
	       group_set_find(r->out, name) != NULL;
}

/*
 * pair0, pair1 …: the first number that no declaration, no other group and no assignment has. An
 * assignment counts even when its boards are gone: an operator who releases it by name must not hit
 * another group.
 */
static char *free_name(const Resolver *r, const char *base)
{
	for (unsigned n = 0;; n++) {
		char *name = strf("%s%u", base, n);

		if (!name_taken(r, name) && !assignments_find_group(r->assignments, name))
			return name;
		free(name);
	}
}

static const char *base_name(size_t n_gpus)
{
	return n_gpus == 1 ? "solo" : n_gpus == 2 ? "pair" : n_gpus == 4 ? "quad" : "group";
}

/*
 * A declaration with a missing member may mean boards that moved to other slots. Until that is
 * settled, nothing is inferred about boards of its model. If none of its members was found, nothing
 * is inferred at all.
 */
static const Group *unsettled_by(const Resolver *r, const Gpu *gpu)
{
	EACH (const Group, group, r->out->items, r->out->n_items) {
		if (group->provenance != PROVENANCE_DECLARED || !group->fault)
			continue;
		if (group->n_gpus == 0 || gpu_same_model(group->gpus[0], gpu))
			return group;
	}
	return NULL;
}

/* Finds both ends of a link as GPUs that are in no group yet. False if there are none. */
static bool link_ends(const Resolver *r, const Link *link, Gpu **ret_a, Gpu **ret_b)
{
	Gpu *a = gpu_set_find(r->set, &link->a), *b = gpu_set_find(r->set, &link->b);

	if (!a || !b || a == b || is_owned(r, a) || is_owned(r, b))
		return false;
	*ret_a = a;
	*ret_b = b;
	return true;
}

/* Appends a group. Takes its strings. */
static void add(Resolver *r, Gpu *const *gpus, size_t n_gpus, Group *group)
{
	group->gpus = xcalloc(n_gpus + 1, sizeof(Gpu *));
	r->out->items = xreallocarray(r->out->items, r->out->n_items + 1, sizeof(Group));
	for (size_t i = 0; i < n_gpus; i++) {
		group->gpus[i] = gpus[i];
		r->owner[gpu_index(r, gpus[i])] = r->out->n_items;
	}
	group->n_gpus = n_gpus;
	r->out->items[r->out->n_items++] = *group;
}

/* Adds a group with the provenance of the weakest link that it needs. Takes `name`. */
static void add_observed(Resolver *r, char *name, Gpu *const *gpus, size_t n, const Link *weakest)
{
	Group group = {
		.name = name,
		.provenance = weakest->provenance,
		.source = xstrdup(str_or_empty(weakest->source)),
		.reasoning = xstrdup(weakest->reasoning),
	};

	add(r, gpus, n, &group);
}

/* A look saw it linked, or did not see alike what two boards tell of their links. */
static bool is_seen_linked(const Resolver *r, const Gpu *gpu)
{
	return SOME(r->links->items, r->links->n_items, link_has(it, &gpu->lead->bdf));
}

/* All its links are known to go elsewhere. */
static bool is_settled(const Resolver *r, const Gpu *gpu)
{
	size_t owner = r->owner[gpu_index(r, gpu)];
	const Group *group = owner == NO_OWNER ? NULL : &r->out->items[owner];

	return group && !group->fault && group->provenance > PROVENANCE_INFERRED &&
	       (group->single || group->n_gpus >= gpu->board->group_size);
}

/* Every other board that a bridge could tie to it is in a group that is complete. */
static bool has_no_partner(const Resolver *r, const Gpu *gpu)
{
	return !SOME(r->set->gpus, r->set->n_gpus,
		     it != gpu && it->board && str_equal(it->board->name, gpu->board->name) &&
			     !is_settled(r, it));
}

/* Why this GPU, which is in no group, has nothing that it could be linked to; NULL: it may have. */
static char *why_single(const Resolver *r, const Gpu *gpu)
{
	const Board *board = gpu->board;

	if (!board || is_seen_linked(r, gpu))
		return NULL;
	if (board->kind == NVLINK_NONE)
		return strf("%s has no NVLink", board->name);
	if (board->kind == NVLINK_BRIDGE && r->set->n_nvswitches == 0 && !unsettled_by(r, gpu) &&
	    has_no_partner(r, gpu))
		return strf("no other %s is left that it could be bridged to", board->name);
	return NULL;
}

/* Adds a group of one. Takes both texts. */
static void add_single(Resolver *r, char *name, Gpu *gpu, char *reasoning)
{
	Group group = {
		.name = name,
		.provenance = PROVENANCE_SINGLE,
		.single = true,
		.source = xstrdup("sysfs"),
		.reasoning = reasoning,
	};

	add(r, &gpu, 1, &group);
}

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
	return SOME_OF(gpus, n, it == gpu);
}

/* By links down to this provenance; only between these GPUs, NULL: between all. */
static Component *find_components(const Resolver *r, Provenance lowest, Gpu *const *gpus, size_t n)
{
	Component *components = xcalloc(r->set->n_gpus + 1, sizeof(Component));

	for (size_t i = 0; i < r->set->n_gpus; i++)
		components[i].label = i;
	for (int p = PROVENANCE_DECLARED - 1; p >= (int)lowest; p--)
		EACH (const Link, link, r->links->items, r->links->n_items) {
			Gpu *a, *b;

			if ((int)link->provenance == p && !link->doubt &&
			    link_ends(r, link, &a, &b) &&
			    (!gpus || (has_gpu(gpus, n, a) && has_gpu(gpus, n, b))) &&
			    (p > PROVENANCE_INFERRED || !unsettled_by(r, a)))
				join_components(components, r->set->n_gpus, gpu_index(r, a),
						gpu_index(r, b), link);
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
	EACH (Gpu, gpu, r->set->gpus, r->set->n_gpus) {
		bool named = SOME_OF(gpu->functions, gpu->n_functions,
				     assignment_function(record, &it->bdf) != NULL);

		if (named)
			gpus[n++] = gpu;
	}
	for (size_t i = 0; !*ret_missing && i < record->n_functions; i++) {
		const Bdf *bdf = &record->functions[i].bdf;
		const PciFunction *function = pci_snapshot_find(r->set->snapshot, bdf);
		MemberKind kind;

		if (!gpu_set_find(r->set, bdf) && !(function && member_kind_of(function, &kind)))
			*ret_missing = bdf;
	}
	return n;
}

/* The weakest link that is needed to join exactly these GPUs; NULL: links do not join them. */
static const Link *find_weakest(const Resolver *r, Gpu *const *gpus, size_t n)
{
	_cleanup_free_ Component *components = find_components(r, PROVENANCE_INFERRED, gpus, n);
	size_t label = gpu_index(r, gpus[0]);

	for (size_t i = 1; i < n; i++)
		if (components[gpu_index(r, gpus[i])].label != label)
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

	add(r, gpus, n, &group);
}

/* It goes with them, until they are released together. */
static void add_recorded_companions(Resolver *r, const Gpu *gpu, const Assignment *record)
{
	Group *group = &r->out->items[r->owner[gpu_index(r, gpu)]];

	if (group->provenance == PROVENANCE_DECLARED)
		companions_record(group, record, r->set);
}

/* Adds no group if a declaration has some of the GPUs: it decides about the others, too. */
static void add_recorded(Resolver *r, const Assignment *record, Gpu **gpus)
{
	const Bdf *missing;
	size_t n = recorded_gpus(r, record, gpus, &missing);
	const Link *weakest;
	char *name, *why;

	for (size_t i = 0; i < n; i++)
		if (is_owned(r, gpus[i])) {
			add_recorded_companions(r, gpus[i], record);
			return;
		}
	if (n == 0)
		return;
	weakest = missing ? NULL : find_weakest(r, gpus, n);
	why = n == 1 && !missing ? why_single(r, gpus[0]) : NULL;
	name = name_taken(r, record->group_name) ? free_name(r, base_name(n))
						 : xstrdup(record->group_name);
	if (why)
		add_single(r, name, gpus[0], why);
	else if (weakest)
		add_observed(r, name, gpus, n, weakest);
	else
		add_kept(r, name, record, gpus, n, missing);
	companions_record(&r->out->items[r->out->n_items - 1], record, r->set);
}

/*
 * What is assigned stays one group under its name, whatever becomes of the evidence: the operator
 * releases it by that name, and nobody else may get its GPUs. Links out of it contradict it.
 */
static void resolve_recorded(Resolver *r)
{
	_cleanup_free_ Gpu **gpus = xcalloc(r->set->n_gpus + 1, sizeof(Gpu *));

	for (size_t i = 0; i < r->assignments->n_items; i++)
		add_recorded(r, r->assignments->items[i], gpus);
}

/* The connected parts that observed links make of the GPUs that are in no group yet. */
static void resolve_observed(Resolver *r)
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
		add_observed(r, free_name(r, base_name(n_members)), members, n_members,
			     components[i].weakest);
	}
}

/* Drops members that an earlier declaration has. */
static void drop_owned(const Resolver *r, ResolvedMembers *members)
{
	size_t kept = 0;

	EACH_OF (Gpu, gpu, members->gpus, members->n_gpus) {
		char *missing;

		if (!is_owned(r, gpu)) {
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
	companions_declare(&group, declaration, r->set->snapshot);
	add(r, members.gpus, members.n_gpus, &group);
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
	size_t owner = gpu ? r->owner[gpu_index(r, gpu)] : NO_OWNER;

	return owner == NO_OWNER ? NULL : &r->out->items[owner];
}

/*
 * A look saw a link that leaves a group. The declaration is wrong, the host has changed, or the
 * link is not what both ends say. Candidates claim nothing, so nothing contradicts them.
 */
static void note_contradictions(Resolver *r)
{
	EACH (const Link, link, r->links->items, r->links->n_items) {
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
	EACH (const Link, link, r->links->items, r->links->n_items) {
		Gpu *ends[2];

		if (link->provenance != PROVENANCE_INFERRED ||
		    !link_ends(r, link, &ends[0], &ends[1]) || unsettled_by(r, ends[0]))
			continue;
		add_observed(r, free_name(r, base_name(2)), ends, 2, link);
	}
}

static void resolve_singles(Resolver *r)
{
	for (size_t i = 0; r->singles && i < r->set->n_gpus; i++) {
		Gpu *gpu = &r->set->gpus[i];
		char *why = is_owned(r, gpu) ? NULL : why_single(r, gpu);

		if (why)
			add_single(r, free_name(r, base_name(1)), gpu, why);
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

		if (is_owned(r, gpu) || !gpu->board || gpu->board->kind != NVLINK_BRIDGE)
			continue;
		for (size_t k = i; k < n; k++)
			if (!is_owned(r, &r->set->gpus[k]) && gpu_same_model(gpu, &r->set->gpus[k]))
				alike[n_alike++] = &r->set->gpus[k];
		unsettled = unsettled_by(r, gpu);
		group.name = free_name(r, "unknown");
		group.source = xstrdup("sysfs");
		group.reasoning = group_candidates_reasoning(
			r->set, alike, n_alike, unsettled ? unsettled->name : NULL, r->links);
		add(r, alike, n_alike, &group);
	}
}

static void resolve_all(Resolver *r)
{
	for (size_t i = 0; i < r->set->n_gpus; i++)
		r->owner[i] = NO_OWNER;
	for (size_t i = 0; i < r->declarations->n_items; i++)
		add_declared(r, &r->declarations->items[i]);
	note_contradictions(r);
	resolve_recorded(r);
	resolve_observed(r);
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
		group_check(&out->items[i], links, out, policy);
	group_note_ungrouped(set, &out->notes);
	if (out->n_items > 1)
		qsort(out->items, out->n_items, sizeof(Group), compare_groups);
	return out;
}
