/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/list.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gpupass/dbus.h"
#include "model/json.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* A row: a group, or a GPU that is in none. */
typedef struct Row {
	const Group *group; /* NULL: a GPU */
	const Gpu *gpu;
} Row;

static char *joined(char *const *list)
{
	return list ? strv_join(list, ",") : xstrdup("-");
}

/* A column with a text of the row r, which is "-" where there is none. */
#define TEXT_COLUMN(name, text)                                                                    \
	static char *name##_text(const void *row)                                                  \
	{                                                                                          \
		const Row *r = row;                                                                \
                                                                                                   \
		return xstrdup(or_dash(text));                                                     \
	}
#define OF_GROUP(member) (r->group ? r->group->member : "")

TEXT_COLUMN(group, OF_GROUP(name))
TEXT_COLUMN(board, r->group ? r->group->model : r->gpu->model)
TEXT_COLUMN(link, OF_GROUP(link))
TEXT_COLUMN(driver, r->group ? r->group->driver : *r->gpu->driver ? r->gpu->driver : "none")
TEXT_COLUMN(state, r->group ? r->group->state : gpu_exclusion(r->gpu))
TEXT_COLUMN(domain, *OF_GROUP(domain_name) ? r->group->domain_name : OF_GROUP(domain_uuid))
TEXT_COLUMN(uuid, OF_GROUP(domain_uuid))
TEXT_COLUMN(provenance, OF_GROUP(provenance))
TEXT_COLUMN(assignable, r->group && r->group->assignable ? "yes" : "no")
TEXT_COLUMN(kept, OF_GROUP(kept))
TEXT_COLUMN(tenant, r->group ? r->group->tenant_state : r->gpu->tenant_state)
TEXT_COLUMN(verified, OF_GROUP(verified))
TEXT_COLUMN(reason, r->group ? r->group->reason : r->gpu->nvlink_note)

static char *gpus_text(const void *row)
{
	const Row *r = row;

	return r->group ? joined(r->group->gpu_addresses) : xstrdup(r->gpu->address);
}

static char *numa_text(const void *row)
{
	const Row *r = row;

	return r->group ? numbers_text(&r->group->numa_nodes) : number_text(r->gpu->numa_node);
}

static char *iommu_text(const void *row)
{
	const Row *r = row;

	return r->group ? numbers_text(&r->group->iommu_groups) : number_text(r->gpu->iommu_group);
}

static char *links_text(const void *row)
{
	const Row *r = row;

	if (!r->group || r->group->links_expected == 0)
		return xstrdup("-");
	return strf("%" PRIu32 "/%" PRIu32, r->group->links, r->group->links_expected);
}

static char *job_text(const void *row)
{
	const Row *r = row;
	uint32_t id = r->group ? job_id_from_path(r->group->job) : 0;

	return id > 0 ? strf("%" PRIu32, id) : xstrdup("-");
}

static char *functions_text(const void *row)
{
	_cleanup_strv_ char **addresses = NULL;
	const Row *r = row;

	if (r->group)
		return joined(r->group->functions);
	for (size_t i = 0; i < r->gpu->functions.n_items; i++)
		strv_append(&addresses, r->gpu->functions.items[i].address);
	return joined(addresses);
}

static const ColumnKind kinds[] = {
	{ .name = "GROUP", .flags = COLUMN_COLOUR, .usual = true, .text = group_text },
	{ .name = "GPUS", .flags = COLUMN_LINES, .usual = true, .text = gpus_text },
	{ .name = "MODEL", .minimum = 12, .usual = true, .text = board_text },
	{ .name = "LINK", .usual = true, .text = link_text },
	{ .name = "NUMA", .usual = true, .spare = true, .text = numa_text },
	{ .name = "IOMMU", .usual = true, .spare = true, .text = iommu_text },
	{ .name = "DRIVER", .usual = true, .text = driver_text },
	{ .name = "STATE", .flags = COLUMN_COLOUR, .usual = true, .text = state_text },
	{ .name = "DOMAIN", .minimum = 8, .usual = true, .text = domain_text },
	{ .name = "UUID", .text = uuid_text },
	{ .name = "LINKS", .text = links_text },
	{ .name = "PROVENANCE", .text = provenance_text },
	{ .name = "ASSIGNABLE", .text = assignable_text },
	{ .name = "KEPT", .text = kept_text },
	{ .name = "TENANT", .text = tenant_text },
	{ .name = "VERIFIED", .text = verified_text },
	{ .name = "JOB", .text = job_text },
	{ .name = "FUNCTIONS", .flags = COLUMN_LINES, .text = functions_text },
	{ .name = "REASON", .minimum = 12, .text = reason_text },
};

static Colour row_colour(const void *row)
{
	const Row *r = row;

	return r->group ? group_colour(r->group) : COLOUR_NONE;
}

static const char *row_mark(const Terminal *t, const void *row)
{
	const Row *r = row;

	return r->group ? group_bullet(t, r->group) : " ";
}

/* Groups, and then GPUs that are in none. */
static void print_table(Client *c, const World *w, const ColumnChoice *choice)
{
	_cleanup_free_ Row *rows = xcalloc(w->n_groups + w->n_gpus + 1, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < w->n_groups; i++)
		rows[n++].group = &w->groups[i];
	for (size_t i = 0; i < w->n_gpus; i++)
		if (!world_find_group_path(w, w->gpus[i].group))
			rows[n++].gpu = &w->gpus[i];
	columns_print(c, choice,
		      &(ColumnRows){ .rows = rows,
				     .n_rows = n,
				     .row_size = sizeof(*rows),
				     .colour = row_colour,
				     .mark = row_mark });
}

static void print_hints(Client *c, const World *w)
{
	bool first = true;

	for (size_t i = 0; i < w->n_groups; i++) {
		_cleanup_free_ char *hint = group_hint(&w->groups[i]);

		if (!hint)
			continue;
		fputs(first ? "\n" : "", c->out.stream);
		terminal_prose(&c->out, 0, 2, hint);
		first = false;
	}
}

json_t *list_json(const World *w)
{
	json_t *single = json_array();

	for (size_t i = 0; i < w->n_gpus; i++)
		if (!world_find_group_path(w, w->gpus[i].group))
			json_append(single, json_of_object(OBJECT_GPU, &w->gpus[i]));
	return json_build("{s:s, s:o, s:o, s:o}", "schema", GPUPASS_SCHEMA_LIST, "groups",
			  json_groups(w), "ungrouped_gpus", single, "notes",
			  json_strv(w->manager.notes));
}

int list_print_json(Client *c, const World *w)
{
	return json_print(c, list_json(w));
}

static void print_list(Client *c, const World *w, const ColumnChoice *choice)
{
	if (w->n_groups == 0 && w->n_gpus == 0) {
		if (!c->options->quiet)
			fputs("There are no NVIDIA GPUs in this host.\n", c->err.stream);
	} else {
		print_table(c, w, choice);
	}
	if (c->options->legend)
		print_hints(c, w);
	print_notes(c, w);
}

int verb_list(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(column_choice_clear) ColumnChoice choice = { 0 };
	_cleanup_(world_clear) World w = { 0 };
	int r = columns_choose(c, kinds, ELEMENTS(kinds), &choice);

	if (r >= 0)
		r = world_load(c, &w);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		r = list_print_json(c, &w);
	else
		print_list(c, &w, &choice);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

const ColumnKind *list_columns(size_t *ret_n)
{
	*ret_n = ELEMENTS(kinds);
	return kinds;
}
