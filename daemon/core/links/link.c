/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/links/link.h"

#include "util/grow.h"
#include "util/text.h"

#include "link.inc"

void links_add(Links *into, Link link)
{
	*GROW(into->items, into->n_items) = link;
}

bool link_has(const Link *link, const Bdf *bdf)
{
	return bdf_equal(&link->a, bdf) || bdf_equal(&link->b, bdf);
}

static bool selector_matches(const Selector *selector, const Gpu *gpu)
{
	switch (selector->kind) {
	case SELECTOR_UUID:
		return gpu->uuid && strcasecmp(gpu->uuid, selector->text) == 0;
	case SELECTOR_SERIAL:
		return gpu->serial_number && strcasecmp(gpu->serial_number, selector->text) == 0;
	case SELECTOR_SLOT:
		return SOME_OF(gpu->functions, gpu->n_functions,
			       str_equal(it->physical_slot, selector->text));
	case SELECTOR_ADDRESS:
		break;
	}
	return false;
}

/* Why no GPU matches, and what would help. */
static char *why_none(const Selector *selector)
{
	switch (selector->kind) {
	case SELECTOR_UUID:
		return strf("no GPU is known as %s (a UUID can be read only while the nvidia "
			    "driver has the GPU; an address always can)",
			    selector->text);
	case SELECTOR_SERIAL:
		return strf("no GPU is known with serial number %s (boards before Hopper have "
			    "none)",
			    selector->text);
	case SELECTOR_SLOT:
		return strf("no GPU is in physical slot %s", selector->text);
	case SELECTOR_ADDRESS:
		break;
	}
	return strf("there is no NVIDIA GPU at %s", BDF_TEXT(&selector->address));
}

Gpu *selector_resolve(const Selector *selector, const GpuSet *set, char **ret_why)
{
	Gpu *found = NULL;

	if (selector->kind == SELECTOR_ADDRESS)
		found = gpu_set_find(set, &selector->address);
	else
		EACH (Gpu, gpu, set->gpus, set->n_gpus) {
			if (!selector_matches(selector, gpu))
				continue;
			if (found) {
				*ret_why = strf("both %s and %s answer to %s",
						BDF_TEXT(&found->lead->bdf),
						BDF_TEXT(&gpu->lead->bdf), selector->text);
				return NULL;
			}
			found = gpu;
		}
	if (!found)
		*ret_why = why_none(selector);
	return found;
}

static void add_missing(ResolvedMembers *resolved, const char *why)
{
	_cleanup_free_ char *before = resolved->missing;

	resolved->missing = before ? strf("%s; %s", before, why) : xstrdup(why);
}

static void add_member(ResolvedMembers *resolved, Gpu *gpu)
{
	size_t at = resolved->n_gpus;

	for (size_t i = 0; i < resolved->n_gpus; i++)
		if (resolved->gpus[i] == gpu) {
			_cleanup_free_ char *why =
				strf("two members are the same GPU, %s", BDF_TEXT(&gpu->lead->bdf));

			add_missing(resolved, why);
			return;
		}
	for (; at > 0 && bdf_compare(&resolved->gpus[at - 1]->lead->bdf, &gpu->lead->bdf) > 0; at--)
		resolved->gpus[at] = resolved->gpus[at - 1];
	resolved->gpus[at] = gpu;
	resolved->n_gpus++;
}

ResolvedMembers declaration_resolve(const Declaration *declaration, const GpuSet *set)
{
	ResolvedMembers resolved = { 0 };

	for (size_t i = 0; i < declaration->n_members && i < GROUP_GPUS_MAX; i++) {
		_cleanup_free_ char *why = NULL;
		Gpu *gpu = selector_resolve(&declaration->members[i], set, &why);

		if (gpu)
			add_member(&resolved, gpu);
		else
			add_missing(&resolved, why);
	}
	return resolved;
}

/* `a` comes before `b` in its set, so its address is the lower one. */
static void add_declared(Links *into, const Declaration *declaration, const Gpu *a, const Gpu *b)
{
	links_add(into, (Link){
				.a = a->lead->bdf,
				.b = b->lead->bdf,
				.provenance = PROVENANCE_DECLARED,
				.source = xstrdup(declaration->source),
			});
}

static bool is_declared(const Links *links, const Gpu *gpu)
{
	return SOME(links->items, links->n_items,
		    it->provenance == PROVENANCE_DECLARED && link_has(it, &gpu->lead->bdf)) ||
	       bdf_in(&gpu->lead->bdf, links->alone, links->n_alone);
}

static void add_pairs(Links *into, const Declaration *declaration, const ResolvedMembers *members)
{
	if (declaration->n_members == 1 && members->n_gpus == 1)
		*GROW(into->alone, into->n_alone) = members->gpus[0]->lead->bdf;
	for (size_t i = 0; i < members->n_gpus; i++)
		for (size_t k = i + 1; k < members->n_gpus; k++)
			add_declared(into, declaration, members->gpus[i], members->gpus[k]);
}

/*
 * Selectors of different kinds may mean one GPU, and only this place sees it. The first declaration
 * keeps the GPU.
 */
static bool has_taken_member(const Links *links, const ResolvedMembers *members, const Gpu **ret)
{
	for (size_t i = 0; i < members->n_gpus; i++)
		if (is_declared(links, members->gpus[i])) {
			*ret = members->gpus[i];
			return true;
		}
	return false;
}

void links_from_declarations(Links *into, const Declarations *declarations, const GpuSet *set,
			     char ***notes)
{
	EACH (const Declaration, declaration, declarations->items, declarations->n_items) {
		ResolvedMembers members = declaration_resolve(declaration, set);
		const Gpu *taken;

		if (members.missing)
			strv_appendf(notes, "group %s (%s): %s", declaration->name,
				     declaration->source, members.missing);
		else if (has_taken_member(into, &members, &taken))
			strv_appendf(notes, "group %s (%s): %s is in another declared group",
				     declaration->name, declaration->source,
				     BDF_TEXT(&taken->lead->bdf));
		else
			add_pairs(into, declaration, &members);
		resolved_members_clear(&members);
	}
}

static bool is_candidate(const Links *links, const Gpu *gpu)
{
	return gpu->board && gpu->board->kind == NVLINK_BRIDGE && !is_declared(links, gpu);
}

/*
 * A link joins it to another GPU, or a one-sided doubt names it. Such a doubt joins nothing, but
 * nothing may be inferred about the GPU either.
 */
static bool is_linked(const Links *links, const Gpu *gpu)
{
	return SOME(links->items, links->n_items,
		    (!it->doubt || it->one_sided) && link_has(it, &gpu->lead->bdf));
}

/* The only other candidate of the same kind; NULL if there is none, or more than one. */
static const Gpu *only_partner(const Links *links, const GpuSet *set, const Gpu *gpu)
{
	const Gpu *partner = NULL;

	EACH (const Gpu, other, set->gpus, set->n_gpus) {
		if (other == gpu || !is_candidate(links, other) || !gpu_same_model(gpu, other))
			continue;
		if (partner)
			return NULL;
		partner = other;
	}
	return partner;
}

static const char *slot_of(const Gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_functions; i++)
		if (gpu->functions[i]->physical_slot)
			return gpu->functions[i]->physical_slot;
	return NULL;
}

/* "; they are in slots 3 and 5": where to look for the bridge. Empty if one is not known. */
static char *slots_text(const Gpu *a, const Gpu *b)
{
	if (!slot_of(a) || !slot_of(b))
		return xstrdup("");
	return strf("; they are in slots %s and %s", slot_of(a), slot_of(b));
}

static void add_inferred(Links *into, const Gpu *a, const Gpu *b)
{
	_cleanup_free_ char *slots = slots_text(a, b);

	links_add(into,
		  (Link){
			  .a = a->lead->bdf,
			  .b = b->lead->bdf,
			  .provenance = PROVENANCE_INFERRED,
			  .source = xstrdup("sysfs"),
			  .reasoning = strf("%s and %s are the only two %s boards of one make that "
					    "no declaration names%s",
					    BDF_TEXT(&a->lead->bdf), BDF_TEXT(&b->lead->bdf),
					    a->board->name, slots),
		  });
}

/*
 * Physical slot names are no evidence here, neither for a bridge nor against one, and adjacent
 * slots must never make a pair. The PCI Express specification has a slot's number unique in its
 * chassis, and says nothing of an order (Slot Capabilities, Physical Slot Number); the kernel takes
 * it, or what firmware calls the slot (_SUN), for a name, and adds "-1" where two are the same.
 * Boards with two or three positions skip numbers on one host and not on another, and risers begin
 * again. Nor is there a width that no bridge has: bridges of one connector fit boards of other
 * models.
 * A board whose bridge joins four is no exception: two such boards have one pairing, while four may
 * be one quad or two pairs.
 * A declaration with a missing member has no links here. groups_resolve() knows of it, and drops
 * what was inferred beside it.
 */
void links_infer(Links *into, const GpuSet *set)
{
	/*
	 * With an NVSwitch, Fabric Manager owns the links, and no pairing is the only possible one.
	 */
	if (set->n_nvswitches > 0)
		return;
	for (size_t i = 0; i < set->n_gpus; i++) {
		const Gpu *gpu = &set->gpus[i], *partner;

		if (!is_candidate(into, gpu) || is_linked(into, gpu))
			continue;
		partner = only_partner(into, set, gpu);
		/* Only from the lower address, so that each pair is added once. */
		if (!partner || partner < gpu || is_linked(into, partner) ||
		    links_find_observed(into, &gpu->lead->bdf, &partner->lead->bdf))
			continue;
		add_inferred(into, gpu, partner);
	}
}

bool link_is_observed(const Link *link)
{
	return link->provenance > PROVENANCE_INFERRED && link->provenance < PROVENANCE_DECLARED;
}

/* Of two links between the same boards the later look counts; at the same time, the stronger. */
static bool link_outweighs(const Link *link, const Link *other)
{
	if (link->observed_usec != other->observed_usec)
		return link->observed_usec > other->observed_usec;
	return link->provenance > other->provenance;
}

const Link *links_find_observed(const Links *links, const Bdf *a, const Bdf *b)
{
	const Link *best = NULL;

	EACH (const Link, link, links->items, links->n_items)
		if (link_is_observed(link) &&
		    ((bdf_equal(&link->a, a) && bdf_equal(&link->b, b)) ||
		     (bdf_equal(&link->a, b) && bdf_equal(&link->b, a))) &&
		    (!best || link_outweighs(link, best)))
			best = link;
	return best;
}
