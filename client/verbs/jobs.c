/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <inttypes.h>

#include "base/table.h"
#include "base/text.h"
#include "bus/bus.h"
#include "model/json.h"
#include "show/blocks.h"
#include "show/describe.h"
#include "verbs/verbs.h"

static const Column columns[] = {
	{ "JOB", COLUMN_RIGHT },    { "OPERATION", 0 }, { "GROUP", 0 }, { "DOMAIN", COLUMN_CUT },
	{ "STATE", COLUMN_COLOUR }, { "STARTED", 0 },	{ "TOOK", 0 },
};

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
	case JOB_PLANNING:
	case JOB_RUNNING:
	case JOB_ROLLING_BACK:
	case JOB_STATE_MAX_:
		break;
	}
	return COLOUR_MOVING;
}

static int add_job(Table *table, const Job *job)
{
	_cleanup_free_ char *id = strf("%" PRIu32, job->id);
	_cleanup_free_ char *started = time_format(job->created_at);
	_cleanup_free_ char *took = duration_format(job->duration_usec);

	if (!id || !started || !took)
		return -ENOMEM;
	return table_row(table,
			 (const char *const[]){ id, or_dash(job->operation),
						or_dash(job->group_name), or_dash(job->domain_name),
						job->state, started,
						job_is_over(job) ? took : "-" },
			 job_colour(job), NULL, NULL);
}

static int print_jobs(Client *c, const World *w)
{
	_cleanup_(table_freep) Table *table = NULL;
	int r;

	if (w->n_jobs == 0) {
		if (!c->options->quiet)
			fputs("There are no jobs.\n", c->err.stream);
		return 0;
	}
	r = table_new(&c->out, columns, ELEMENTS(columns), c->options->legend, &table);
	for (size_t i = 0; r >= 0 && i < w->n_jobs; i++)
		r = add_job(table, &w->jobs[i]);
	return r < 0 ? r : table_print(table);
}

static int print_job(Client *c, const Job *job)
{
	_cleanup_(json_decrefp) json_t *document = NULL;

	if (c->options->json == JSON_OFF)
		return block_job(c, job);
	document = json_job(job);
	if (json_object_set_new(document, "schema", json_string(GPUPASS_SCHEMA_JOB)) < 0)
		return -ENOMEM;
	return json_print(c, TAKE_PTR(document));
}

static int parse_id(const char *text, uint32_t *ret)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || value == 0 || value > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)value;
	return 0;
}

int verb_jobs(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	const Job *job = NULL;
	uint32_t id = 0;
	int r;

	if (n_arguments > 0 && parse_id(arguments[0], &id) < 0)
		return client_usage(c, "'%s' is not the number of a job", arguments[0]);
	r = world_load(c, &w);
	if (r < 0)
		return r;
	if (n_arguments > 0) {
		job = world_find_job(&w, id);
		if (!job)
			return client_error(
				c, GPUPASS_ERROR_NO_SUCH_JOB,
				"there is no job %" PRIu32 "\n"
				"Cause:  gpupassd keeps the last 32 jobs since its start\n"
				"Remedy: see them with: gpupass jobs",
				id);
		r = print_job(c, job);
	} else if (c->options->json != JSON_OFF) {
		r = json_print(c, json_pack("{s:s, s:o}", "schema", GPUPASS_SCHEMA_JOBS, "jobs",
					    json_jobs(&w)));
	} else {
		r = print_jobs(c, &w);
	}
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
