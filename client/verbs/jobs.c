/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "gpupass/dbus.h"
#include "job/job.h"
#include "model/json.h"
#include "show/blocks.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

static Colour job_colour(const Job *job)
{
	JobState state;

	if (job_state_from_string(job->state, &state) < 0)
		return COLOUR_NONE;
	switch (state) {
	case JOB_DONE:
		return COLOUR_GOOD;
	case JOB_FAILED:
	case JOB_INCOMPLETE:
		return COLOUR_BAD;
	case JOB_CANCELLED:
		return COLOUR_DIM;
	case JOB_PLANNING:
	case JOB_RUNNING:
	case JOB_ROLLING_BACK:
	case JOB_STATE_MAX_:
		break;
	}
	return COLOUR_MOVING;
}

static Colour row_colour(const void *row)
{
	return job_colour(row);
}

/* A column of the job, by its text and perhaps a number to sort by. */
#define TEXT_COLUMN(name, text)                                                                    \
	static char *name##_text(const void *row)                                                  \
	{                                                                                          \
		const Job *job = row;                                                              \
                                                                                                   \
		return text;                                                                       \
	}
#define NUMBER_COLUMN(name, member, text)                                                          \
	TEXT_COLUMN(name, text)                                                                    \
	static uint64_t name##_number(const void *row)                                             \
	{                                                                                          \
		return ((const Job *)row)->member;                                                 \
	}

static const char *last_word(const char *error)
{
	const char *dot = strrchr(error, '.');

	return dot ? dot + 1 : error;
}

NUMBER_COLUMN(id, id, strf("%" PRIu32, job->id))
TEXT_COLUMN(operation, xstrdup(or_dash(job->operation)))
TEXT_COLUMN(group, xstrdup(or_dash(job->group_name)))
TEXT_COLUMN(domain, xstrdup(or_dash(job->domain_name)))
TEXT_COLUMN(state, xstrdup(job_shown_state(job)))
NUMBER_COLUMN(started, created_at, time_format(job->created_at))
NUMBER_COLUMN(took, duration_usec,
	      job_is_over(job) ? duration_format(job->duration_usec) : xstrdup("-"))
TEXT_COLUMN(uuid, xstrdup(or_dash(job->domain_uuid)))
TEXT_COLUMN(error, xstrdup(or_dash(last_word(job->error_name))))
NUMBER_COLUMN(caller, caller_uid, strf("%" PRIu32, job->caller_uid))

static const ColumnKind kinds[] = {
	{ .name = "JOB",
	  .flags = COLUMN_RIGHT,
	  .usual = true,
	  .text = id_text,
	  .number = id_number },
	{ .name = "OPERATION", .usual = true, .text = operation_text },
	{ .name = "GROUP", .usual = true, .text = group_text },
	{ .name = "DOMAIN", .minimum = 8, .usual = true, .text = domain_text },
	{ .name = "STATE", .flags = COLUMN_COLOUR, .usual = true, .text = state_text },
	{ .name = "STARTED", .usual = true, .text = started_text, .number = started_number },
	{ .name = "TOOK", .usual = true, .text = took_text, .number = took_number },
	{ .name = "UUID", .text = uuid_text },
	{ .name = "ERROR", .text = error_text },
	{ .name = "CALLER", .flags = COLUMN_RIGHT, .text = caller_text, .number = caller_number },
};

const ColumnKind *jobs_columns(size_t *ret_n)
{
	*ret_n = ELEMENTS(kinds);
	return kinds;
}

static void print_jobs(Client *c, const World *w, const ColumnChoice *choice)
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
				     .colour = row_colour });
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
	r = columns_choose(c, kinds, ELEMENTS(kinds), &choice);
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
