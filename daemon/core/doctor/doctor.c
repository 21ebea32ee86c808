/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/doctor/doctor.h"

#include <string.h>

#include "core/base/json-fields.h"
#include "core/checks/checks.h"
#include "core/group/record.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/xalloc.h"

/* Adds a group to the domain's, once. NULL is none. */
static void add_group(Checks *c, const Group *group)
{
	for (size_t i = 0; i < c->n_groups; i++)
		if (c->groups[i] == group)
			return;
	if (group)
		c->groups[c->n_groups++] = group;
}

/* The domain's groups: by its records, its metadata, and its hostdevs. */
static void find_groups(Checks *c)
{
	const CheckFacts *facts = c->facts;
	const char *uuid = facts->domain ? facts->domain->uuid : NULL;
	const DomainUse *use = facts->uses ? domain_uses_find(facts->uses, uuid) : NULL;
	const Assignment *record;
	size_t position = 0;

	c->groups = xcalloc(facts->groups->n_items + 1, sizeof(*c->groups));
	while ((record = assignments_of_domain(facts->assignments, uuid, &position)))
		add_group(c, group_set_find_assigned(facts->groups, record));
	for (char **name = use ? use->gpupass_groups : NULL; name && *name; name++)
		if (mark_counts(facts->groups, use, *name))
			add_group(c, group_set_find(facts->groups, *name));
	for (size_t i = 0; use && i < use->n_hostdevs; i++)
		add_group(c, group_set_find_gpu(facts->groups, &use->hostdevs[i].bdf));
}

static const Gpu **select_gpus(const Checks *c, size_t *ret_n)
{
	const CheckFacts *facts = c->facts;
	const Gpu **gpus = xcalloc(facts->gpus->n_gpus + 1, sizeof(*gpus));

	*ret_n = 0;
	for (size_t i = 0; i < facts->gpus->n_gpus; i++) {
		const Gpu *gpu = &facts->gpus->gpus[i];
		const Group *group = group_set_find_gpu(facts->groups, &gpu->lead->bdf);

		if (group && checks_cover_group(c, group->name))
			gpus[(*ret_n)++] = gpu;
	}
	return gpus;
}

/* ---- the report ---- */

static json_t *finding_json(const Finding *f)
{
	json_t *what = json_array(), *objects = json_array();
	_cleanup_strv_ char **seen = NULL;

	for (size_t i = 0; i < f->n_lines; i++) {
		const char *object = f->lines[i].object;

		json_append(what, json_text(f->lines[i].what));
		if (!object || strv_contains(seen, object))
			continue;
		strv_append(&seen, object);
		json_append(objects, json_text(object));
	}
	return json_build(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "id", f->check->id, "title",
		f->check->title, "status", finding_status_to_string(f->status), "what", what,
		"remedy",
		json_string_or_null(f->status > FINDING_PASS ? finding_remedy_text(f) : NULL),
		"objects", objects, "see", f->check->see, "evidence", f->check->evidence);
}

static json_t *group_names_json(const Checks *c)
{
	json_t *a = json_array();

	for (size_t i = 0; i < c->n_groups; i++)
		json_append(a, json_text(c->groups[i]->name));
	return a;
}

static json_t *domain_json(const Checks *c)
{
	const VirtDomain *domain = c->facts->domain;

	if (!domain)
		return json_null();
	return json_build("{s:o, s:s, s:o, s:o}", "name", json_text(domain->name), "uuid",
			  domain->uuid, "group",
			  json_string_or_null(c->n_groups > 0 ? c->groups[0]->name : NULL),
			  "groups", group_names_json(c));
}

static json_t *counts_json(const Findings *findings)
{
	json_t *o = json_object();

	for (int status = FINDING_STATUS_MAX_ - 1; status >= 0; status--) {
		json_int_t count = 0;

		for (size_t i = 0; i < findings->n_items; i++)
			count += findings->items[i].status == (FindingStatus)status;
		json_set(o, finding_status_to_string((FindingStatus)status), json_integer(count));
	}
	return o;
}

static char *report_json(const Checks *c, const Findings *findings, DoctorSymptom symptom)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < findings->n_items; i++)
		json_append(list, finding_json(&findings->items[i]));
	json_set(root, "schema", json_text(GPUPASS_SCHEMA_DOCTOR));
	json_set(root, "domain", domain_json(c));
	json_set(root, "symptom", doctor_symptom_json(symptom, findings));
	json_set(root, "counts", counts_json(findings));
	json_set(root, "checks", list);
	return json_dumps(root, JSON_COMPACT);
}

char *doctor_report(const CheckFacts *facts, DoctorSymptom symptom)
{
	Checks c = { .facts = facts };
	_cleanup_(findings_clear) Findings findings = { 0 };
	_cleanup_free_ const Gpu **gpus = NULL;
	char *text;

	find_groups(&c);
	gpus = select_gpus(&c, &c.n_gpus);
	c.gpus = gpus;
	findings = checks_run(&c, 0);
	text = report_json(&c, &findings, symptom);
	free(c.groups);
	checks_clear(&c);
	return text;
}
