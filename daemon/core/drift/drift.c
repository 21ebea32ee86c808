/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/drift/drift.h"

#include "gpupass/dbus.h"
#include "util/domain-devices.h"
#include "util/json.h"

bool drift_has(const Drift *drift, const DriftFinding *finding)
{
	EACH_IN (const DriftFinding, other, drift, items)
		if (other->kind == finding->kind && str_equal(other->group, finding->group) &&
		    str_equal(other->domain_uuid, finding->domain_uuid) &&
		    str_equal(other->what, finding->what))
			return true;
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

static void domain_write(json_t *o, const char *key, const void *finding)
{
	const DriftFinding *f = finding;

	json_set(o, key,
		 f->domain_uuid ? json_build("{s:s, s:o}", "uuid", f->domain_uuid, "name",
					     json_string_or_null(f->domain_name))
				: json_null());
}

LOCAL_JSON_OF(DriftFinding, finding_members, kind, repair, group, "domain"(write domain),
	      functions(max SIZE_MAX), what, remedy)
LOCAL_JSON_OF(Drift, drift_members, schema GPUPASS_SCHEMA_DRIFT, domains_known,
	      items(as "findings", table finding_members, max SIZE_MAX))
#include "drift.inc"

char *drift_to_json(const Drift *drift)
{
	_cleanup_json_ json_t *root = json_struct_write(drift_members, drift);

	return json_dumps(root, JSON_INDENT(2));
}
