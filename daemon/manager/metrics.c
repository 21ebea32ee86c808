/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/metrics.h"

#include "gpupass/dbus.h"
#include "manager/state.h"
#include "util/json.h"
#include "util/text.h"

/* More groups than any host has: records can name ones that are gone. */
#define GROUPS_MAX 256

/* Adds one finding about the group to an object of groups. */
static void add_finding(json_t *groups, const char *group)
{
	const json_t *before = json_object_get(groups, str_or_empty(group));

	if (!before && json_object_size(groups) >= GROUPS_MAX)
		return;
	json_set(groups, str_or_empty(group), json_integer(json_integer_value(before) + 1));
}

static json_t *drift_by_group(const Drift *drift)
{
	json_t *groups = json_object();

	for (size_t i = 0; drift && i < drift->n_items; i++)
		add_finding(groups, drift->items[i].group);
	return groups;
}

static json_t *foreign_by_group(const FenceReport *report)
{
	json_t *groups = json_object();

	for (size_t i = 0; report && i < report->n_items; i++)
		add_finding(groups, report->items[i].group);
	return groups;
}

static json_t *trail_to_json(Trail *trail)
{
	bool writable;
	uint64_t lost;

	if (!trail)
		return json_null();
	trail_health(trail, &writable, &lost);
	return json_build("{s:b, s:I}", "writable", (int)writable, "lost", (json_int_t)lost);
}

char *manager_metrics(const Manager *m, uint64_t denied, uint64_t limited)
{
	_cleanup_json_ json_t *o = NULL, *counted = metrics_to_json(&m->metrics);
	size_t jobs, quarantines;

	claims_count(m->place.job.claims, &jobs, &quarantines);
	o = json_build("{s:s, s:I, s:I, s:{s:I, s:I}, s:I, s:o, s:o, s:o}", "schema",
		       GPUPASS_SCHEMA_METRICS, "claims", (json_int_t)jobs, "quarantines",
		       (json_int_t)quarantines, "refused_calls", "denied", (json_int_t)denied,
		       "limited", (json_int_t)limited, "drift_searched_usec",
		       (json_int_t)m->drift_usec, "drift", drift_by_group(m->drift), "foreign",
		       foreign_by_group(m->foreign), "audit", trail_to_json(m->place.job.trail));
	json_made(json_object_update(o, counted) < 0 ? NULL : o);
	return json_dumps(o, JSON_COMPACT);
}
