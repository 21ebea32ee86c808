/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/drift/drift.h"

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/domain-devices.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

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
		    !hostdev->alias || !str_starts_with(hostdev->alias, DOMAIN_ALIAS_PREFIX))
			return false;
	}
	return true;
}

static json_t *domain_to_json(const DriftFinding *finding)
{
	if (!finding->domain_uuid)
		return json_null();
	return json_build("{s:s, s:o}", "uuid", finding->domain_uuid, "name",
			  json_string_or_null(finding->domain_name));
}

static json_t *addresses_to_json(const DriftFinding *finding)
{
	json_t *a = json_array();

	for (size_t i = 0; i < finding->n_functions; i++)
		json_append(a, json_text(BDF_TEXT(&finding->functions[i])));
	return a;
}

static json_t *finding_to_json(const DriftFinding *f)
{
	json_t *o = json_object();

	json_set(o, "kind", json_text(drift_kind_to_string(f->kind)));
	json_set(o, "repair", json_text(drift_repair_to_string(f->repair)));
	json_set(o, "group", json_text(f->group));
	json_set(o, "domain", domain_to_json(f));
	json_set(o, "functions", addresses_to_json(f));
	json_set(o, "what", json_text(f->what));
	json_set(o, "remedy", json_text(f->remedy));
	return o;
}

char *drift_to_json(const Drift *drift, bool domains_known)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *findings = json_array();

	for (size_t i = 0; i < drift->n_items; i++)
		json_append(findings, finding_to_json(&drift->items[i]));
	json_set(root, "schema", json_text(GPUPASS_SCHEMA_DRIFT));
	json_set(root, "domains_known", json_boolean(domains_known));
	json_set(root, "findings", findings);
	return json_dumps(root, JSON_INDENT(2));
}

#include "drift.inc"
