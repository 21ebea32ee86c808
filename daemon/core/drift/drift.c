/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/drift/drift.h"

#include "core/base/json-fields.h"
#include "core/domain/xml-marks.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

DEFINE_STRING_TABLE(drift_kind, DriftKind, DRIFT_KINDS)
DEFINE_STRING_TABLE(drift_repair, DriftRepair, DRIFT_REPAIRS)

bool drift_has(const Drift *drift, const DriftFinding *finding)
{
	for (size_t i = 0; drift && i < drift->n_items; i++) {
		const DriftFinding *other = &drift->items[i];

		if (other->kind == finding->kind && str_equal(other->group, finding->group) &&
		    str_equal(other->domain_uuid, finding->domain_uuid) &&
		    str_equal(other->what, finding->what))
			return true;
	}
	return false;
}

bool drift_defined_by_us(const DomainUse *use, const char *group, const Bdf *functions, size_t n)
{
	if (!domain_use_names(use, group))
		return false;
	for (size_t i = 0; i < n; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(use, &functions[i]);

		if (!hostdev || !hostdev->config || hostdev->managed || hostdev->argument ||
		    !hostdev->alias || !str_starts_with(hostdev->alias, ALIAS_PREFIX))
			return false;
	}
	return true;
}

static json_t *domain_to_json(const DriftFinding *finding)
{
	if (!finding->domain_uuid)
		return json_null();
	return json_pack("{s:s, s:o}", "uuid", finding->domain_uuid, "name",
			 json_string_or_null(finding->domain_name));
}

static json_t *addresses_to_json(const DriftFinding *finding)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < finding->n_functions; i++)
		if (json_array_append_new(a, json_string(BDF_TEXT(&finding->functions[i]))) < 0)
			return NULL;
	return TAKE_PTR(a);
}

static json_t *finding_to_json(const DriftFinding *f)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "kind", json_string(drift_kind_to_string(f->kind)));
	r |= json_object_set_new(o, "repair", json_string(drift_repair_to_string(f->repair)));
	r |= json_object_set_new(o, "group", json_string(f->group));
	r |= json_object_set_new(o, "domain", domain_to_json(f));
	r |= json_object_set_new(o, "functions", addresses_to_json(f));
	r |= json_object_set_new(o, "what", json_string(f->what));
	r |= json_object_set_new(o, "remedy", json_string(f->remedy));
	return r < 0 ? NULL : TAKE_PTR(o);
}

char *drift_to_json(const Drift *drift, bool domains_known)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *findings = json_array(); /* json_object_set_new() below takes it, also on failure */
	int r = 0;

	for (size_t i = 0; i < drift->n_items; i++)
		r |= json_array_append_new(findings, finding_to_json(&drift->items[i]));
	r |= json_object_set_new(root, "schema", json_string(GPUPASS_SCHEMA_DRIFT));
	r |= json_object_set_new(root, "domains_known", json_boolean(domains_known));
	r |= json_object_set_new(root, "findings", findings);
	return r < 0 ? NULL : json_dumps(root, JSON_INDENT(2));
}

static void drift_finding_clear(DriftFinding *finding)
{
	free(finding->group);
	free(finding->domain_uuid);
	free(finding->domain_name);
	free(finding->functions);
	free(finding->what);
	free(finding->remedy);
}

Drift *drift_free(Drift *drift)
{
	if (!drift)
		return NULL;
	for (size_t i = 0; i < drift->n_items; i++)
		drift_finding_clear(&drift->items[i]);
	free(drift->items);
	free(drift);
	return NULL;
}
