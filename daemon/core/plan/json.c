/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/plan.h"

#include <stdarg.h>

#include "core/base/json-struct.h"
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

static void from_write(json_t *o, const char *key, const void *function)
{
	const PlanFunction *f = function;

	json_set(o, key, driver_to_json(f->from_driver, f->from_override, f->from_persistence));
}

static void to_write(json_t *o, const char *key, const void *function)
{
	const PlanFunction *f = function;

	json_set(o, key, driver_to_json(f->to_driver, f->to_override, f->to_persistence));
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

static void add_vfs(json_t *writes, const Plan *plan)
{
	for (size_t i = 0; i < plan->n_nics; i++) {
		_cleanup_free_ char *number = strf("%u", plan->nics[i].number);

		add_write(writes, number, SYSFS_PCI "/devices/%s/sriov_numvfs",
			  BDF_TEXT(&plan->nics[i].bdf));
	}
	for (size_t i = 0; i < plan->n_vfs; i++)
		add_write(writes, "spoof check on, trust off", "rtnetlink: VF %s",
			  BDF_TEXT(&plan->vfs[i]));
	for (size_t i = 0; i < plan->n_bound_vfs; i++) {
		add_override(writes, BDF_TEXT(&plan->bound_vfs[i]), VFIO_PCI);
		add_write(writes, BDF_TEXT(&plan->bound_vfs[i]), SYSFS_PCI "/drivers_probe");
	}
}

static void add_erase(json_t *writes, const PlanFunction *function)
{
	if (function->erase)
		add_write(writes, "erase", "gpupass-eraser: %s", BDF_TEXT(&function->bdf));
}

typedef void (*AddWrites)(json_t *writes, const PlanFunction *function);

/*
 * Writes of one kind for all functions, then the next kind, in the order of the steps. A function
 * that leaves is reset while it is still on vfio, a function that comes once it is.
 */
static void writes_write(json_t *o, const char *key, const void *of)
{
	static const AddWrites kinds[2][5] = {
		{ add_persistence_off, add_erase, add_writes, add_reset, add_persistence_on },
		{ add_reset, add_erase, add_persistence_off, add_writes, add_persistence_on },
	};
	const Plan *plan = of;
	const AddWrites *order = kinds[plan->operation == OPERATION_RELEASE];
	json_t *a = json_array();

	add_vfs(a, plan);
	for (size_t kind = 0; kind < ELEMENTS(kinds[0]); kind++)
		for (size_t i = 0; i < plan->n_functions; i++)
			order[kind](a, &plan->functions[i]);
	json_set(o, key, a);
}

static void boards_write(json_t *o, const char *key, const void *of)
{
	const Plan *plan = of;
	json_t *a = json_array();

	EACH (const PlanBoard, board, plan->boards, plan->n_boards) {
		const TenantMark *last = &board->last;
		bool reset = board->reset && plan_resets_board(plan, &last->bdf);

		json_append(a, json_build("{s:s, s:s, s:o, s:o, s:b}", "address",
					  BDF_TEXT(&last->bdf), "tenant_state",
					  tenant_state_to_string(last->state), "tenant",
					  json_string_or_null(last->domain_uuid), "tenant_name",
					  json_string_or_null(last->domain_name), "reset", reset));
	}
	json_set(o, key, a);
}

static void steps_write(json_t *o, const char *key, const void *of)
{
	const Plan *plan = of;
	json_t *a = json_array();

	for (size_t i = 0; i < plan->n_steps; i++) {
		_cleanup_free_ char *detail = plan_step_detail(plan, plan->steps[i]);

		json_append(a, json_build("{s:s, s:o}", "name", step_kind_to_string(plan->steps[i]),
					  "detail", json_text(detail)));
	}
	json_set(o, key, a);
}

static void domain_write(json_t *o, const char *key, const void *of)
{
	const Plan *plan = of;

	json_set(o, key,
		 plan->domain_uuid
			 ? json_build("{s:o, s:s}", "name", json_string_or_null(plan->domain_name),
				      "uuid", plan->domain_uuid)
			 : json_null());
}

LOCAL_JSON_OF(PlanFunction, shown_function, bdf(as "address"), iommu_group(index),
	      "from"(write from), "to"(write to))
LOCAL_JSON_OF(FitFinding, shown_finding, id, severity, what, remedy(or_null))
LOCAL_JSON_OF(FitReport, shown_fit, items(as "findings", table shown_finding, max SIZE_MAX))
LOCAL_JSON_OF(Plan, shown_plan, schema GPUPASS_SCHEMA_PLAN, operation, group,
	      "domain"(write domain), live, config, changed, "steps"(write steps),
	      functions(table shown_function, max SIZE_MAX), "boards"(write boards),
	      "writes"(write writes))
#include "json.inc"

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
	static const FitReport nothing;
	_cleanup_json_ json_t *o = json_struct_write(shown_plan, plan);
	_cleanup_json_ json_t *fit = json_struct_write(shown_fit, plan->fit ? plan->fit : &nothing);
	_cleanup_free_ char *diff =
		has_diff(plan) ? domain_xml_diff(plan->xml_before, plan->xml_after) : NULL;

	json_set(o, "hostdevs", json_strv(plan->hostdevs));
	json_set(o, "guest_tree",
		 plan->mirror ? JSON_ARRAY(plan->mirror->nodes, plan->mirror->n_nodes,
					   json_struct_write(mirror_node_members, it))
			      : json_array());
	json_set(o, "xml_diff", json_text(str_or_empty(diff)));
	json_object_update(o, fit);
	json_set(o, "warnings", warnings_to_json(plan, diff));
	return json_dumps(o, JSON_INDENT(2));
}
