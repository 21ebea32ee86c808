/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group-check.h"

#include <string.h>

#include "util/text.h"

/* Links of the strongest observation between two GPUs; 0 when there is none. */
static unsigned observed_count(const Links *links, const Gpu *a, const Gpu *b)
{
	const Link *best = NULL;

	for (size_t i = 0; i < links->n_items; i++) {
		const Link *link = &links->items[i];

		if (link->count > 0 && (!best || link->provenance > best->provenance) &&
		    bdf_equal(&link->a, &a->lead->bdf) && bdf_equal(&link->b, &b->lead->bdf))
			best = link;
	}
	return best ? best->count : 0;
}

/* The fewest links of any two members that were observed. */
static unsigned fewest_links(const Group *group, const Links *links)
{
	unsigned fewest = 0;

	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = i + 1; k < group->n_gpus; k++) {
			unsigned n = observed_count(links, group->gpus[i], group->gpus[k]);

			if (n > 0 && (fewest == 0 || n < fewest))
				fewest = n;
		}
	return fewest;
}

/*
 * Two boards share all their links; on a bridge for four each peer gets an equal share of them,
 * also where one of the four is absent.
 */
static unsigned expected_links(const Group *group)
{
	const Board *board = group->n_gpus > 0 ? group->gpus[0]->board : NULL;

	if (!board || board->kind != NVLINK_BRIDGE || group->provenance == PROVENANCE_NONE)
		return 0;
	return group->n_gpus > 2 ? board->links / (board->group_size - 1U) : board->links;
}

/*
 * Boards that a bridge can join. Looser than gpu_same_model(), which serves inference: two makers'
 * RTX 3090, or both revisions of an RTX 2080 Ti, do work when the operator says they are bridged.
 */
static bool bridgeable(const Gpu *a, const Gpu *b)
{
	if (a->board && b->board)
		return strcmp(a->board->name, b->board->name) == 0;
	return a->lead->vendor == b->lead->vendor && a->lead->device == b->lead->device;
}

/* 0 with *ret_fault NULL when there is none. Boards that are not in the catalogue pass: the
 * operator's word is all there is about them. */
static int member_fault(const Group *group, const Gpu *gpu, char **ret_fault)
{
	_cleanup_free_ char *model = gpu_model(gpu), *first = gpu_model(group->gpus[0]);
	NvlinkKind kind = gpu->board ? gpu->board->kind : NVLINK_UNKNOWN;

	if (!model || !first)
		return -ENOMEM;
	if (kind == NVLINK_NONE || kind == NVLINK_SXM)
		*ret_fault = strf("%s (%s) cannot be in a group: %s", BDF_TEXT(&gpu->lead->bdf),
				  model, board_exclusion(gpu->board));
	else if (!bridgeable(group->gpus[0], gpu))
		*ret_fault = strf("%s (%s) and %s (%s) differ: a bridge ties boards of one model",
				  BDF_TEXT(&group->gpus[0]->lead->bdf), first,
				  BDF_TEXT(&gpu->lead->bdf), model);
	else
		return 0;
	return *ret_fault ? 0 : -ENOMEM;
}

static int members_fault(const Group *group, char **ret_fault)
{
	const Board *board;

	for (size_t i = 0; i < group->n_gpus; i++) {
		int r = member_fault(group, group->gpus[i], ret_fault);

		if (r < 0 || *ret_fault)
			return r;
	}
	board = group->n_gpus > 0 ? group->gpus[0]->board : NULL;
	if (!board || board->group_size == 0 || group->n_gpus <= board->group_size)
		return 0;
	*ret_fault = strf("it has %zu GPUs, but a bridge ties at most %u of %s", group->n_gpus,
			  board->group_size, board->name);
	return *ret_fault ? 0 : -ENOMEM;
}

static int links_fault(const Group *group, char **ret_fault)
{
	if (group->links == 0 || group->links >= group->links_expected)
		return 0;
	*ret_fault = strf("%u of %u NVLinks are active: the bridge may be badly seated",
			  group->links, group->links_expected);
	return *ret_fault ? 0 : -ENOMEM;
}

int group_check(Group *group, const Links *links)
{
	int r = 0;

	group->links_expected = expected_links(group);
	if (group->provenance == PROVENANCE_NONE) {
		group->state = GROUP_UNKNOWN;
		return 0;
	}
	group->links = fewest_links(group, links);
	if (!group->fault)
		r = members_fault(group, &group->fault);
	if (r >= 0 && !group->fault)
		r = links_fault(group, &group->fault);
	if (r < 0)
		return r;
	group->state = group->fault				  ? GROUP_DEGRADED
		       : group->provenance == PROVENANCE_INFERRED ? GROUP_INFERRED
								  : GROUP_FREE;
	if (group->fault) {
		group->reason = strdup(group->fault);
		if (!group->reason)
			return -ENOMEM;
	}
	return 0;
}

/* "0000:41:00.0, 0000:61:00.0" */
static char *addresses(Gpu *const *gpus, size_t n)
{
	_cleanup_strv_ char **list = NULL;

	for (size_t i = 0; i < n; i++)
		if (strv_append(&list, BDF_TEXT(&gpus[i]->lead->bdf)) < 0)
			return NULL;
	return strv_join(list, ", ");
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

char *candidates_reasoning(const GpuSet *set, Gpu *const *gpus, size_t n, const char *unsettled)
{
	_cleanup_free_ char *list = addresses(gpus, n);

	if (!list)
		return NULL;
	if (set->n_nvswitches > 0)
		return strf("nothing is inferred beside an NVSwitch; if %s %s bridged, declare it: "
			    "gpupass declare NAME BDF BDF",
			    list, n == 1 ? "is" : "are");
	if (unsettled)
		return strf("declared group %s does not hold as it stands, so nothing is inferred "
			    "about %s; correct that declaration, or declare these too",
			    unsettled, list);
	if (n == 1)
		return reasoning_for_one(gpus[0]);
	return strf("which of %s (%zu %s) are bridged cannot be read from sysfs", list, n,
		    gpus[0]->board->name);
}

static int note_nvswitches(const GpuSet *set, char ***notes)
{
	if (set->n_nvswitches == 0)
		return 0;
	return strv_appendf(notes,
			    "%zu NVSwitch%s present: NVIDIA's Fabric Manager partitions what "
			    "NVSwitches link, and nothing is inferred on this host",
			    set->n_nvswitches, set->n_nvswitches == 1 ? " is" : "es are");
}

/* That a board has no NVLink at all is no news to its owner. */
static bool worth_a_note(const Gpu *gpu)
{
	return !gpu->board ||
	       (gpu->board->kind != NVLINK_BRIDGE && gpu->board->kind != NVLINK_NONE);
}

static bool same_device(const Gpu *a, const Gpu *b)
{
	return a->lead->device == b->lead->device;
}

static bool noted_before(const GpuSet *set, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (same_device(&set->gpus[i], &set->gpus[index]))
			return true;
	return false;
}

/* One note for all boards like this one. */
static int note_boards(const GpuSet *set, const Gpu *gpu, char ***notes)
{
	_cleanup_free_ char *model = gpu_model(gpu), *list = NULL;
	_cleanup_free_ Gpu **alike = calloc(set->n_gpus, sizeof(Gpu *));
	size_t n = 0;

	if (!model || !alike)
		return -ENOMEM;
	for (size_t i = 0; i < set->n_gpus; i++)
		if (same_device(&set->gpus[i], gpu))
			alike[n++] = &set->gpus[i];
	list = addresses(alike, n);
	if (!list)
		return -ENOMEM;
	return strv_appendf(notes, "%s (%s): %s", list, model, board_exclusion(gpu->board));
}

int note_ungrouped(const GpuSet *set, char ***notes)
{
	int r = note_nvswitches(set, notes);

	for (size_t i = 0; r >= 0 && i < set->n_gpus; i++)
		if (worth_a_note(&set->gpus[i]) && !noted_before(set, i))
			r = note_boards(set, &set->gpus[i], notes);
	return r;
}
