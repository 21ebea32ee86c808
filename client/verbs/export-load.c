/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "export/text.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/export.h"

/* ---- the groups of a domain ---- */

/* The largest number of GPUs that this speaks of: of 16 groups of 4. */
#define GPUS_MAX 64

/* Active links of each GPU. */
typedef struct LinkCounts {
	unsigned per_gpu[GPUS_MAX];
} LinkCounts;

/* Each GPU has links to all others of its group. */
static void add_to_guest(const Group *group, ExportGuest *guest, LinkCounts *counts)
{
	size_t n = strv_length(group->gpu_addresses);

	if (!strv_contains(guest->models, group->model))
		strv_append(&guest->models, group->model);
	for (size_t i = 0; i < n && guest->n_gpus < GPUS_MAX; i++)
		counts->per_gpu[guest->n_gpus++] = group->links_expected * (unsigned)(n - 1);
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static void sort_links(ExportGuest *guest, LinkCounts *counts)
{
	qsort(counts->per_gpu, guest->n_gpus, sizeof(unsigned), by_number);
	for (unsigned i = 0; i < guest->n_gpus; i++)
		strv_appendf(&guest->links, "%u", counts->per_gpu[i]);
}

int export_load_guest(Client *c, const World *w, const char *domain, ExportGuest *ret)
{
	LinkCounts counts = { 0 };

	for (size_t i = 0; i < w->n_groups; i++) {
		const Group *group = &w->groups[i];

		if (!group_is_of_domain(group, domain))
			continue;
		/* A name is that of two domains while one takes it over from the other. */
		if (ret->domain_uuid && strcmp(ret->domain_uuid, group->domain_uuid) != 0)
			return client_usage(c, "%s names several domains\nRemedy: give its UUID",
					    domain);
		ret->domain_uuid = group->domain_uuid;
		add_to_guest(group, ret, &counts);
	}
	if (!ret->domain_uuid)
		return client_error(c, GPUPASS_ERROR_NOT_ASSIGNED,
				    "no group is assigned to %s\n"
				    "Remedy: assign one first: gpupass assign %s",
				    domain, domain);
	sort_links(ret, &counts);
	return 0;
}

/* ---- groups ---- */

/* Of a degraded group a board may be missing, and who got the rest would have a part of it. */
static bool is_whole(const World *w, const Group *group)
{
	GroupState state;

	if (group_state_from_string(group->state, &state) < 0)
		return false;
	for (size_t i = 0; group->gpu_addresses && group->gpu_addresses[i]; i++)
		if (!world_find_gpu(w, group->gpu_addresses[i]))
			return false;
	switch (state) {
	case GROUP_UNKNOWN:
	case GROUP_INFERRED:
	case GROUP_DEGRADED:
	case GROUP_QUARANTINED:
		return false;
	default:
		return strv_length(group->gpu_addresses) > 0;
	}
}

static int fill_functions(const Gpu *from, ExportGpu *to)
{
	to->functions = xcalloc(from->functions.n_items + 1, sizeof(Address));
	for (size_t i = 0; i < from->functions.n_items; i++)
		if (address_parse(from->functions.items[i].address,
				  &to->functions[to->n_functions]) == 0)
			to->n_functions++;
	/* An address that is none would be left out, and the board be split. */
	return to->n_functions > 0 && to->n_functions == from->functions.n_items ? 0 : -EBADMSG;
}

static int fill_gpu(const Gpu *from, ExportGpu *to)
{
	to->name = export_plain_text(*from->name ? from->name : from->model);
	to->vendor_id = from->vendor_id;
	to->device_id = from->device_id;
	to->nvlink_generation = from->nvlink_generation;
	/* The last is the expansion ROM. */
	for (size_t i = 0; i + 1 < from->bar_sizes.n_items; i++)
		if (__builtin_add_overflow(to->bar_bytes, from->bar_sizes.items[i], &to->bar_bytes))
			return -EBADMSG;
	return fill_functions(from, to);
}

static bool is_held(const Group *group)
{
	GroupState state;

	return group_state_from_string(group->state, &state) == 0 &&
	       (state == GROUP_ATTACHING || state == GROUP_ASSIGNED || state == GROUP_DETACHING);
}

static int fill_group(const World *w, const Group *from, ExportGroup *to)
{
	size_t n = strv_length(from->gpu_addresses);
	int r = 0;

	to->name = export_plain_name(from->name);
	to->model = export_plain_text(from->model);
	to->gpus = xcalloc(n, sizeof(ExportGpu));
	to->held = is_held(from);
	to->links = n > 1 ? from->links_expected : 0;
	while (r == 0 && to->n_gpus < n) {
		const Gpu *gpu = world_find_gpu(w, from->gpu_addresses[to->n_gpus]);

		r = gpu ? fill_gpu(gpu, &to->gpus[to->n_gpus++]) : -EBADMSG;
	}
	return r;
}

static int refuse(Client *c, const Group *group)
{
	_cleanup_free_ char *state = group_state_text(group);

	return client_error(c,
			    strcmp(group->state, "quarantined") == 0 ? GPUPASS_ERROR_QUARANTINED
								     : GPUPASS_ERROR_LINKS_UNKNOWN,
			    "%s is not known to be whole: it is %s\n"
			    "Remedy: see: gpupass status %s",
			    group->name, state, group->name);
}

static int find(Client *c, const World *w, const char *name, const Group **ret)
{
	*ret = world_find_group(w, name);
	if (!*ret)
		return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP,
				    "there is no group '%s'\nRemedy: see: gpupass list", name);
	return is_whole(w, *ret) ? 0 : refuse(c, *ret);
}

int export_load_groups(Client *c, const World *w, const char *name, Export *e)
{
	const Group *only = NULL;
	int r = name ? find(c, w, name, &only) : 0;

	if (r != 0)
		return r;
	e->groups = xcalloc(w->n_groups + 1, sizeof(ExportGroup));
	for (size_t i = 0; r == 0 && i < w->n_groups; i++) {
		const Group *group = &w->groups[i];

		if (only && group != only)
			continue;
		if (is_whole(w, group))
			r = fill_group(w, group, &e->groups[e->n_groups++]);
		else
			strv_append_take(&e->left_out, export_plain_name(group->name));
	}
	if (r == -EBADMSG)
		return bus_bad_reply(c, "a GPU with impossible addresses or sizes");
	if (r == 0 && e->n_groups == 0)
		return client_error(c, GPUPASS_ERROR_NO_SUCH_GROUP,
				    "no group is known to be whole\nRemedy: see: gpupass list");
	return r;
}
