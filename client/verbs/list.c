/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables: list and jobs. */
#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "gpupass/dbus.h"
#include "job/job.h"
#include "model/json.h"
#include "show/blocks.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* ---- list ---- */

/* A row: a group, or a GPU that is in none. */
typedef struct Row {
	const Group *group; /* NULL: a GPU */
	const Gpu *gpu;
} Row;

static char *joined(char *const *list)
{
	return list ? strv_join(list, ",") : xstrdup("-");
}

/* A column with a new text of the row r. */
#define COLUMN(Type, name, new_text)                                                               \
	static char *name(const void *row)                                                         \
	{                                                                                          \
		const Type *r = row;                                                               \
                                                                                                   \
		return new_text;                                                                   \
	}
/* The same of a text that it has, which is "-" where there is none. */
#define TEXT_COLUMN(Type, name, text) COLUMN(Type, name, xstrdup(or_dash(text)))
#define OF_GROUP(member) (r->group ? r->group->member : "")

static char *job_number(uint32_t id)
{
	return id > 0 ? strf("%" PRIu32, id) : xstrdup("-");
}

static char *links_text(const Group *group)
{
	if (!group || group->links_expected == 0)
		return xstrdup("-");
	return strf("%" PRIu32 "/%" PRIu32, group->links, group->links_expected);
}

static char *companions_text(const Group *group)
{
	_cleanup_strv_ char **companions = group_companions(group);

	return joined(companions);
}

static char *functions_text(const Gpu *gpu)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < gpu->functions.n_items; i++)
		strv_append(&addresses, gpu->functions.items[i].address);
	return joined(addresses);
}

TEXT_COLUMN(Row, list_group, OF_GROUP(name))
COLUMN(Row, list_gpus, r->group ? joined(r->group->gpu_addresses) : xstrdup(r->gpu->address))
COLUMN(Row, list_with, r->group ? companions_text(r->group) : xstrdup("-"))
TEXT_COLUMN(Row, list_board, r->group ? r->group->model : r->gpu->model)
TEXT_COLUMN(Row, list_link, OF_GROUP(link))
COLUMN(Row, list_numa,
       r->group ? numbers_text(&r->group->numa_nodes) : number_text(r->gpu->numa_node))
COLUMN(Row, list_iommu,
       r->group ? numbers_text(&r->group->iommu_groups) : number_text(r->gpu->iommu_group))
TEXT_COLUMN(Row, list_driver,
	    r->group	      ? r->group->driver
	    : *r->gpu->driver ? r->gpu->driver
			      : "none")
TEXT_COLUMN(Row, list_state, r->group ? r->group->state : gpu_exclusion(r->gpu))
TEXT_COLUMN(Row, list_domain,
	    *OF_GROUP(domain_name) ? r->group->domain_name : OF_GROUP(domain_uuid))
TEXT_COLUMN(Row, list_uuid, OF_GROUP(domain_uuid))
COLUMN(Row, list_links, links_text(r->group))
TEXT_COLUMN(Row, list_provenance, OF_GROUP(provenance))
TEXT_COLUMN(Row, list_assignable, r->group && r->group->assignable ? "yes" : "no")
TEXT_COLUMN(Row, list_kept, OF_GROUP(kept))
TEXT_COLUMN(Row, list_tenant, r->group ? r->group->tenant_state : r->gpu->tenant_state)
TEXT_COLUMN(Row, list_verified, OF_GROUP(verified))
COLUMN(Row, list_job, job_number(r->group ? job_id_from_path(r->group->job) : 0))
COLUMN(Row, list_functions, r->group ? joined(r->group->functions) : functions_text(r->gpu))
TEXT_COLUMN(Row, list_reason, r->group ? r->group->reason : r->gpu->nvlink_note)

static const ColumnKind list_kinds[] = {
	{ .name = "GROUP", .flags = COLUMN_COLOUR, .usual = true, .text = list_group },
	{ .name = "GPUS", .flags = COLUMN_LINES, .usual = true, .text = list_gpus },
	{ .name = "MODEL", .minimum = 12, .usual = true, .text = list_board },
	{ .name = "LINK", .usual = true, .text = list_link },
	{ .name = "NUMA", .usual = true, .spare = true, .text = list_numa },
	{ .name = "IOMMU", .usual = true, .spare = true, .text = list_iommu },
	{ .name = "DRIVER", .usual = true, .text = list_driver },
	{ .name = "STATE", .flags = COLUMN_COLOUR, .usual = true, .text = list_state },
	{ .name = "DOMAIN", .minimum = 8, .usual = true, .text = list_domain },
	{ .name = "WITH", .flags = COLUMN_LINES, .text = list_with },
	{ .name = "UUID", .text = list_uuid },
	{ .name = "LINKS", .text = list_links },
	{ .name = "PROVENANCE", .text = list_provenance },
	{ .name = "ASSIGNABLE", .text = list_assignable },
	{ .name = "KEPT", .text = list_kept },
	{ .name = "TENANT", .text = list_tenant },
	{ .name = "VERIFIED", .text = list_verified },
	{ .name = "JOB", .text = list_job },
	{ .name = "FUNCTIONS", .flags = COLUMN_LINES, .text = list_functions },
	{ .name = "REASON", .minimum = 12, .text = list_reason },
};

static Colour list_colour(const void *row)
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
static void print_table(Client *c, const World *w, ColumnChoice *choice)
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
				     .colour = list_colour,
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
	json_t *single = JSON_ARRAY(
		w->gpus, w->n_gpus,
		world_find_group_path(w, it->group) ? NULL : json_of_object(OBJECT_GPU, it));

	return json_build("{s:s, s:o, s:o, s:o}", "schema", GPUPASS_SCHEMA_LIST, "groups",
			  json_groups(w), "ungrouped_gpus", single, "notes",
			  json_strv(w->manager.notes));
}

int list_print_json(Client *c, const World *w)
{
	return json_print(c, list_json(w));
}

static void print_list(Client *c, const World *w, ColumnChoice *choice)
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
	int r = columns_choose(c, list_kinds, ELEMENTS(list_kinds), &choice);

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
	*ret_n = ELEMENTS(list_kinds);
	return list_kinds;
}

/* ---- jobs, and one job ---- */

static Colour job_colour(const void *row)
{
	static const Colour colours[JOB_STATE_MAX_] = {
		[JOB_PLANNING] = COLOUR_MOVING,	    [JOB_RUNNING] = COLOUR_MOVING,
		[JOB_ROLLING_BACK] = COLOUR_MOVING, [JOB_DONE] = COLOUR_GOOD,
		[JOB_FAILED] = COLOUR_BAD,	    [JOB_INCOMPLETE] = COLOUR_BAD,
		[JOB_CANCELLED] = COLOUR_DIM,
	};
	JobState state;

	return job_state_from_string(((const Job *)row)->state, &state) < 0 ? COLOUR_NONE
									    : colours[state];
}

/* With a number to sort by. */
#define NUMBER_COLUMN(name, member, new_text)                                                      \
	COLUMN(Job, name, new_text)                                                                \
	static uint64_t name##_number(const void *row)                                             \
	{                                                                                          \
		return ((const Job *)row)->member;                                                 \
	}

#define NUMBERED(column) .text = column, .number = column##_number

static const char *last_word(const char *error)
{
	const char *dot = strrchr(error, '.');

	return dot ? dot + 1 : error;
}

NUMBER_COLUMN(job_id, id, strf("%" PRIu32, r->id))
TEXT_COLUMN(Job, job_operation, r->operation)
TEXT_COLUMN(Job, job_group, r->group_name)
TEXT_COLUMN(Job, job_domain, r->domain_name)
COLUMN(Job, job_state, xstrdup(job_shown_state(r)))
NUMBER_COLUMN(job_started, created_at, time_format(r->created_at))
NUMBER_COLUMN(job_took, duration_usec,
	      job_is_over(r) ? duration_format(r->duration_usec) : xstrdup("-"))
TEXT_COLUMN(Job, job_uuid, r->domain_uuid)
TEXT_COLUMN(Job, job_error, last_word(r->error_name))
NUMBER_COLUMN(job_caller, caller_uid, strf("%" PRIu32, r->caller_uid))

static const ColumnKind job_kinds[] = {
	{ .name = "JOB", .flags = COLUMN_RIGHT, .usual = true, NUMBERED(job_id) },
	{ .name = "OPERATION", .usual = true, .text = job_operation },
	{ .name = "GROUP", .usual = true, .text = job_group },
	{ .name = "DOMAIN", .minimum = 8, .usual = true, .text = job_domain },
	{ .name = "STATE", .flags = COLUMN_COLOUR, .usual = true, .text = job_state },
	{ .name = "STARTED", .usual = true, NUMBERED(job_started) },
	{ .name = "TOOK", .usual = true, NUMBERED(job_took) },
	{ .name = "UUID", .text = job_uuid },
	{ .name = "ERROR", .text = job_error },
	{ .name = "CALLER", .flags = COLUMN_RIGHT, NUMBERED(job_caller) },
};

const ColumnKind *jobs_columns(size_t *ret_n)
{
	*ret_n = ELEMENTS(job_kinds);
	return job_kinds;
}

static void print_jobs(Client *c, const World *w, ColumnChoice *choice)
{
	if (w->n_jobs == 0) {
		if (!c->options->quiet)
			fputs("There are no jobs.\n", c->err.stream);
		return;
	}
	columns_print(c, choice,
		      &(ColumnRows){ .rows = w->jobs,
				     .n_rows = w->n_jobs,
				     .row_size = sizeof(Job),
				     .colour = job_colour });
}

static int print_job(Client *c, const Job *job)
{
	if (c->options->json != JSON_OFF)
		return job_print_json(c, job);
	block_job(c, job);
	return 0;
}

static int show_job(Client *c, const World *w, uint32_t id)
{
	const Job *job = world_find_job(w, id);

	if (job)
		return print_job(c, job);
	return client_error(c, GPUPASS_ERROR_NO_SUCH_JOB,
			    "there is no job %" PRIu32 "\n"
			    "Cause:  gpupassd keeps the last 32 jobs since its start\n"
			    "Remedy: see them with: gpupass jobs",
			    id);
}

int verb_jobs(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(column_choice_clear) ColumnChoice choice = { 0 };
	_cleanup_(world_clear) World w = { 0 };
	const Options *o = c->options;
	uint32_t id = 0;
	int r = n_arguments > 0 ? job_id_parse(c, arguments[0], &id) : 0;

	if (r < 0)
		return r;
	if (n_arguments > 0 && (o->columns || o->sort))
		return client_usage(c, "--%s is for the list of jobs, not for one of them",
				    o->columns ? "columns" : "sort");
	r = columns_choose(c, job_kinds, ELEMENTS(job_kinds), &choice);
	if (r >= 0)
		r = world_load(c, &w);
	if (r < 0)
		return r;
	if (n_arguments > 0)
		r = show_job(c, &w, id);
	else if (o->json != JSON_OFF)
		r = json_print(c, json_build("{s:s, s:o}", "schema", GPUPASS_SCHEMA_JOBS, "jobs",
					     json_jobs(&w)));
	else
		print_jobs(c, &w, &choice);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
