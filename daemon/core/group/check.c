/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/check.h"

#include "core/group/companion.h"
#include "util/grow.h"
#include "util/text.h"

static const Link *observed(const Links *links, const Group *group, size_t i, size_t k)
{
	return links_find_observed(links, &group->gpus[i]->lead->bdf, &group->gpus[k]->lead->bdf);
}

/* Sets the fewest observed links between two members, and the oldest look that shows them. */
static void set_observed(Group *group, const Links *links)
{
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = i + 1; k < group->n_gpus; k++) {
			const Link *link = observed(links, group, i, k);

			if (!link || link->count == 0)
				continue;
			if (group->links == 0 || link->count < group->links)
				group->links = link->count;
			if (group->evidence_usec == 0 || link->observed_usec < group->evidence_usec)
				group->evidence_usec = link->observed_usec;
		}
}

/*
 * Two boards share all their links. On a bridge for four each peer gets an equal share, also when
 * one of the four is absent.
 */
static unsigned expected_links(const Group *group)
{
	const Board *board = group->n_gpus > 0 ? group->gpus[0]->board : NULL;

	if (!board || board->kind != NVLINK_BRIDGE || group->provenance == PROVENANCE_NONE ||
	    group->single)
		return 0;
	return group->n_gpus > 2 ? board->links / (board->group_size - 1U) : board->links;
}

/*
 * A bridge can join these boards. This is looser than gpu_same_model(), which serves inference: two
 * makers' RTX 3090, or both revisions of an RTX 2080 Ti, do work when the operator says that they
 * are bridged.
 */
static bool bridgeable(const Gpu *a, const Gpu *b)
{
	if (a->board && b->board)
		return strcmp(a->board->name, b->board->name) == 0;
	return a->lead->vendor == b->lead->vendor && a->lead->device == b->lead->device;
}

/*
 * NULL: there is no fault. A board that is not in the catalogue passes, because only the operator
 * knows about it.
 */
static char *member_fault(const Group *group, const Gpu *gpu)
{
	_cleanup_free_ char *model = gpu_model(gpu), *first = gpu_model(group->gpus[0]);
	NvlinkKind kind = gpu->board ? gpu->board->kind : NVLINK_UNKNOWN;

	if (kind == NVLINK_SXM || (kind == NVLINK_NONE && !group->single))
		return strf("%s (%s) cannot be in a group: %s", BDF_TEXT(&gpu->lead->bdf), model,
			    board_exclusion(gpu->board));
	if (!bridgeable(group->gpus[0], gpu))
		return strf("%s (%s) and %s (%s) differ: a bridge ties boards of one model",
			    BDF_TEXT(&group->gpus[0]->lead->bdf), first, BDF_TEXT(&gpu->lead->bdf),
			    model);
	return NULL;
}

static char *members_fault(const Group *group)
{
	const Board *board = group->n_gpus > 0 ? group->gpus[0]->board : NULL;

	for (size_t i = 0; i < group->n_gpus; i++) {
		char *fault = member_fault(group, group->gpus[i]);

		if (fault)
			return fault;
	}
	if (!board || board->group_size == 0 || group->n_gpus <= board->group_size)
		return NULL;
	return strf("it has %zu GPUs, but a bridge ties at most %u of %s", group->n_gpus,
		    board->group_size, board->name);
}

/*
 * Two members that do not agree about their links. What one of them sees agrees with a declaration
 * if nobody looked at the other.
 */
static const Link *first_doubt(const Group *group, const Links *links)
{
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = i + 1; k < group->n_gpus; k++) {
			const Link *link = observed(links, group, i, k);

			if (link && link->doubt &&
			    !(link->half && group->provenance == PROVENANCE_DECLARED))
				return link;
		}
	return NULL;
}

static char *doubt_fault(Group *group, const Link *doubt)
{
	_cleanup_free_ char *when = utc_text(doubt->observed_usec);

	group->seen_otherwise = true;
	return strf("%s (%s, %s, %s), but %s%s", doubt->doubt,
		    provenance_to_string(doubt->provenance), str_or_empty(doubt->source), when,
		    group->provenance == PROVENANCE_DECLARED ? "they are declared together in "
							     : "they are linked by ",
		    group->source);
}

/*
 * All links of a member to other members; 0 when the links to one of them are not known. Three GPUs
 * on a bridge for four have the right number for each pair, and still lack a GPU.
 */
static unsigned links_of_member(const Group *group, const Links *links, size_t member)
{
	unsigned sum = 0;

	for (size_t i = 0; i < group->n_gpus; i++) {
		const Link *link = i == member ? NULL : observed(links, group, i, member);

		if (i != member && !link)
			return 0;
		sum += link ? link->count : 0;
	}
	return sum;
}

static char *member_links_fault(Group *group, const Links *links)
{
	const Board *board = group->n_gpus > 2 ? group->gpus[0]->board : NULL;

	for (size_t i = 0; board && board->kind == NVLINK_BRIDGE && i < group->n_gpus; i++) {
		unsigned n = links_of_member(group, links, i);

		if (n == 0 || n >= board->links)
			continue;
		group->seen_otherwise = true;
		return strf("%s has %u of its %u NVLinks to members: a GPU of its bridge is "
			    "missing, or not seated",
			    BDF_TEXT(&group->gpus[i]->lead->bdf), n, board->links);
	}
	return NULL;
}

static char *links_fault(Group *group, const Links *links)
{
	const Link *doubt = first_doubt(group, links);

	if (doubt)
		return doubt_fault(group, doubt);
	if (group->links == 0 || group->links >= group->links_expected)
		return member_links_fault(group, links);
	group->seen_otherwise = true;
	return strf("%u of %u NVLinks are active: the bridge may be badly seated", group->links,
		    group->links_expected);
}

/* ---- the evidence, as it is shown ---- */

static GroupEvidence *evidence_of(Group *group, const Link *link)
{
	return FIND(group->evidence, group->n_evidence, it->provenance == link->provenance);
}

static void add_evidence(Group *group, const Link *link)
{
	GroupEvidence *e = evidence_of(group, link);

	if (e) {
		if (link->count < e->links)
			e->links = link->count;
		if (link->observed_usec < e->seen_usec)
			e->seen_usec = link->observed_usec;
		return;
	}
	*GROW(group->evidence, group->n_evidence) = (GroupEvidence){
		.provenance = link->provenance,
		.links = link->count,
		.seen_usec = link->observed_usec,
		.source = xstrdup(str_or_empty(link->source)),
	};
}

static bool is_member(const Group *group, const Bdf *bdf)
{
	return SOME_OF(group->gpus, group->n_gpus, bdf_equal(&it->lead->bdf, bdf));
}

static int compare_evidence(const void *a, const void *b)
{
	const GroupEvidence *x = a, *y = b;

	return (int)y->provenance - (int)x->provenance;
}

static void collect_evidence(Group *group, const Links *links)
{
	EACH (const Link, link, links->items, links->n_items)
		if (is_member(group, &link->a) && is_member(group, &link->b))
			add_evidence(group, link);
	if (group->n_evidence > 1)
		qsort(group->evidence, group->n_evidence, sizeof(GroupEvidence), compare_evidence);
}

void group_check(Group *group, const Links *links, const GroupSet *all, const Policy *policy)
{
	collect_evidence(group, links);
	group->links_expected = expected_links(group);
	if (group->provenance == PROVENANCE_NONE) {
		group->state = GROUP_UNKNOWN;
		return;
	}
	set_observed(group, links);
	if (!group->fault)
		group->fault = members_fault(group);
	if (!group->fault)
		group->fault = links_fault(group, links);
	if (!group->fault) {
		group->fault = companions_fault(group, all, policy);
		group->companion_fault = group->fault != NULL;
	}
	group->state = group->fault				  ? GROUP_DEGRADED
		       : group->provenance == PROVENANCE_INFERRED ? GROUP_INFERRED
								  : GROUP_FREE;
	group->reason = xstrdup(group->fault);
}

static char *reasoning_for_one(const Gpu *gpu)
{
	return strf(
		"%s is the only %s of subsystem %04x:%04x that is in no group, so there "
		"is nothing to pair it with; if it is bridged to a board of another make, declare "
		"both: gpupass declare NAME BDF BDF",
		BDF_TEXT(&gpu->lead->bdf), gpu->board->name, gpu->lead->subsystem_vendor,
		gpu->lead->subsystem_device);
}

/* A doubt about two of them, or about one of them and a GPU elsewhere; NULL: none. */
static const Link *doubt_about(Gpu *const *gpus, size_t n, const Links *links)
{
	EACH (const Link, link, links->items, links->n_items)
		if (link->doubt && SOME_OF(gpus, n, link_has(link, &it->lead->bdf)))
			return link;
	return NULL;
}

char *group_candidates_reasoning(const GpuSet *set, Gpu *const *gpus, size_t n,
				 const char *unsettled, const Links *links)
{
	const Link *doubt = doubt_about(gpus, n, links);
	_cleanup_free_ char *list = gpu_addresses(gpus, n, ", ");

	if (set->n_nvswitches > 0)
		return strf("nothing is inferred beside an NVSwitch; if %s %s bridged, declare it: "
			    "gpupass declare NAME BDF BDF",
			    list, n == 1 ? "is" : "are");
	if (unsettled)
		return strf("declared group %s does not hold as it stands, so nothing is inferred "
			    "about %s; correct that declaration, or declare these too",
			    unsettled, list);
	if (doubt)
		return xstrdup(doubt->reasoning);
	if (n == 1)
		return reasoning_for_one(gpus[0]);
	return strf("which of %s (%zu %s) are bridged cannot be read from sysfs", list, n,
		    gpus[0]->board->name);
}

static void note_nvswitches(const GpuSet *set, char ***notes)
{
	if (set->n_nvswitches == 0)
		return;
	strv_appendf(notes,
		     "%zu NVSwitch%s present: NVIDIA's Fabric Manager partitions what "
		     "NVSwitches link, and nothing is inferred on this host",
		     set->n_nvswitches, set->n_nvswitches == 1 ? " is" : "es are");
}

/* A board without any NVLink needs no note: its owner knows. */
static bool worth_a_note(const Gpu *gpu)
{
	return !gpu->board ||
	       (gpu->board->kind != NVLINK_BRIDGE && gpu->board->kind != NVLINK_NONE);
}

static bool same_device(const Gpu *a, const Gpu *b)
{
	return a->lead->device == b->lead->device;
}

/* Adds one note for all boards like this one. */
static void note_boards(const GpuSet *set, const Gpu *gpu, char ***notes)
{
	_cleanup_free_ char *model = gpu_model(gpu), *list = NULL;
	_cleanup_free_ Gpu **alike = xcalloc(set->n_gpus, sizeof(Gpu *));
	size_t n = 0;

	for (size_t i = 0; i < set->n_gpus; i++)
		if (same_device(&set->gpus[i], gpu))
			alike[n++] = &set->gpus[i];
	list = gpu_addresses(alike, n, ", ");
	strv_appendf(notes, "%s (%s): %s", list, model, board_exclusion(gpu->board));
}

void group_note_ungrouped(const GpuSet *set, char ***notes)
{
	note_nvswitches(set, notes);
	for (size_t i = 0; i < set->n_gpus; i++)
		if (worth_a_note(&set->gpus[i]) &&
		    !SOME(set->gpus, i, same_device(it, &set->gpus[i])))
			note_boards(set, &set->gpus[i], notes);
}
