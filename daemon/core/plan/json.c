/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/plan.h"

#include <stdarg.h>

#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

#define SYSFS_PCI "/sys/bus/pci"

static json_t *driver_to_json(const char *driver, const char *override, PersistenceMode persistence)
{
	const char *mode =
		persistence == PERSISTENCE_UNKNOWN ? NULL : persistence_mode_to_string(persistence);

	return json_build("{s:o, s:o, s:s*}", "driver", json_string_or_null(driver), "override",
			  json_string_or_null(override), "persistence", mode);
}

static json_t *function_to_json(const PlanFunction *function)
{
	json_t *iommu_group = function->iommu_group == IOMMU_GROUP_NONE
				      ? json_null()
				      : json_integer(function->iommu_group);

	return json_build("{s:s, s:o, s:o, s:o}", "address", BDF_TEXT(&function->bdf),
			  "iommu_group", iommu_group, "from",
			  driver_to_json(function->from_driver, function->from_override,
					 function->from_persistence),
			  "to",
			  driver_to_json(function->to_driver, function->to_override,
					 function->to_persistence));
}

static json_t *functions_to_json(const Plan *plan)
{
	json_t *a = json_array();

	for (size_t i = 0; i < plan->n_functions; i++)
		json_append(a, function_to_json(&plan->functions[i]));
	return a;
}

static void add_write(json_t *writes, const char *value, const char *path, ...) _printf_(3, 4);

static void add_write(json_t *writes, const char *value, const char *path, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, path);
	text = vstrf(path, ap);
	va_end(ap);
	json_append(writes,
		    json_build("{s:o, s:o}", "path", json_text(text), "value", json_text(value)));
}

/* A single newline clears it. */
static void add_override(json_t *writes, const char *bdf, const char *value)
{
	add_write(writes, value ? value : "\n", SYSFS_PCI "/devices/%s/driver_override", bdf);
}

/*
 * The writes of driver_move_with() (host/device/driver.h) in its order: override, unbind, probe. If
 * the driver is not the one that the override names, there is no override during the bind, which is
 * by name.
 */
static void add_writes(json_t *writes, const PlanFunction *function)
{
	const char *driver = function->to_driver, *override = function->to_override;
	const char *meanwhile = driver && !str_equal(driver, override) ? NULL : override;
	char bdf[BDF_TEXT_MAX];

	bdf_format(&function->bdf, bdf);
	if (!plan_function_moves(function))
		return;
	if (!str_equal(function->from_override, meanwhile))
		add_override(writes, bdf, meanwhile);
	if (!str_equal(function->from_driver, driver)) {
		if (function->from_driver)
			add_write(writes, bdf, SYSFS_PCI "/devices/%s/driver/unbind", bdf);
		if (driver && str_equal(meanwhile, driver))
			add_write(writes, bdf, SYSFS_PCI "/drivers_probe");
		else if (driver)
			add_write(writes, bdf, SYSFS_PCI "/drivers/%s/bind", driver);
	}
	if (!str_equal(meanwhile, override))
		add_override(writes, bdf, override);
}

static void add_reset(json_t *writes, const PlanFunction *function)
{
	if (function->reset == PLAN_RESET_SLOT)
		add_write(writes, "VFIO_DEVICE_PCI_HOT_RESET", "/dev/vfio: the slot of %s",
			  BDF_TEXT(&function->bdf));
	else if (function->reset == PLAN_RESET_OWN && function->reset_method)
		add_write(writes, "1", SYSFS_PCI "/devices/%s/reset", BDF_TEXT(&function->bdf));
}

static void add_persistence_off(json_t *writes, const PlanFunction *function)
{
	if (plan_function_loses_persistence(function))
		add_write(writes, "off", "nvidia-smi: persistence mode of %s",
			  BDF_TEXT(&function->bdf));
}

static void add_persistence_on(json_t *writes, const PlanFunction *function)
{
	if (plan_function_regains_persistence(function))
		add_write(writes, "on", "NVML: persistence mode of %s", BDF_TEXT(&function->bdf));
}

typedef void (*AddWrites)(json_t *writes, const PlanFunction *function);

/*
 * Writes of one kind for all functions, then the next kind, in the order of the steps. A function
 * that leaves is reset while it is still on vfio, a function that comes once it is.
 */
static json_t *writes_to_json(const Plan *plan)
{
	static const AddWrites kinds[2][4] = {
		{ add_persistence_off, add_writes, add_reset, add_persistence_on },
		{ add_reset, add_persistence_off, add_writes, add_persistence_on },
	};
	const AddWrites *order = kinds[plan->operation == OPERATION_RELEASE];
	json_t *a = json_array();

	for (size_t kind = 0; kind < ELEMENTS(kinds[0]); kind++)
		for (size_t i = 0; i < plan->n_functions; i++)
			order[kind](a, &plan->functions[i]);
	return a;
}

static json_t *boards_to_json(const Plan *plan)
{
	json_t *a = json_array();

	for (size_t i = 0; i < plan->n_boards; i++) {
		const TenantMark *last = &plan->boards[i].last;
		bool reset = plan->boards[i].reset && plan_resets_board(plan, &last->bdf);

		json_append(a, json_build("{s:s, s:s, s:o, s:o, s:b}", "address",
					  BDF_TEXT(&last->bdf), "tenant_state",
					  tenant_state_to_string(last->state), "tenant",
					  json_string_or_null(last->domain_uuid), "tenant_name",
					  json_string_or_null(last->domain_name), "reset", reset));
	}
	return a;
}

static json_t *steps_to_json(const Plan *plan)
{
	json_t *a = json_array();

	for (size_t i = 0; i < plan->n_steps; i++) {
		_cleanup_free_ char *detail = plan_step_detail(plan, plan->steps[i]);

		json_append(a, json_build("{s:s, s:o}", "name", step_kind_to_string(plan->steps[i]),
					  "detail", json_text(detail)));
	}
	return a;
}

static json_t *domain_to_json(const Plan *plan)
{
	if (!plan->domain_uuid)
		return json_null();
	return json_build("{s:o, s:o}", "name", json_string_or_null(plan->domain_name), "uuid",
			  json_text(plan->domain_uuid));
}

static json_t *findings_to_json(const FitReport *fit)
{
	json_t *a = json_array();

	for (size_t i = 0; fit && i < fit->n_items; i++) {
		const FitFinding *finding = &fit->items[i];

		json_append(a,
			    json_build("{s:s, s:s, s:o, s:o}", "id", fit_id_to_string(finding->id),
				       "severity", fit_severity_to_string(finding->severity),
				       "what", json_text(finding->what), "remedy",
				       json_string_or_null(finding->remedy)));
	}
	return a;
}

static bool has_diff(const Plan *plan)
{
	return plan->xml_before && plan->xml_after;
}

/* If the difference cannot be shown, a warning says so, and neither text appears. */
static json_t *warnings_to_json(const Plan *plan, const char *diff)
{
	json_t *a = json_strv(plan->warnings);
	_cleanup_free_ char *untold = NULL;

	if (!has_diff(plan) || diff)
		return a;
	untold = strf(
		"the definition of %s changes, but the difference is not shown: the XML is too "
		"large or not understood",
		plan->domain_name);
	json_append(a, json_text(untold));
	return a;
}

char *plan_to_json(const Plan *plan)
{
	_cleanup_json_ json_t *o = json_object();
	_cleanup_free_ char *diff =
		has_diff(plan) ? domain_xml_diff(plan->xml_before, plan->xml_after) : NULL;

	json_set(o, "schema", json_text(GPUPASS_SCHEMA_PLAN));
	json_set(o, "operation", json_text(operation_to_string(plan->operation)));
	json_set(o, "group", json_text(plan->group));
	json_set(o, "domain", domain_to_json(plan));
	json_set(o, "live", json_boolean(plan->live));
	json_set(o, "config", json_boolean(plan->config));
	json_set(o, "changed", json_boolean(plan->changed));
	json_set(o, "steps", steps_to_json(plan));
	json_set(o, "functions", functions_to_json(plan));
	json_set(o, "boards", boards_to_json(plan));
	json_set(o, "writes", writes_to_json(plan));
	json_set(o, "hostdevs", json_strv(plan->hostdevs));
	json_set(o, "xml_diff", json_text(str_or_empty(diff)));
	json_set(o, "findings", findings_to_json(plan->fit));
	json_set(o, "warnings", warnings_to_json(plan, diff));
	return json_dumps(o, JSON_INDENT(2));
}
