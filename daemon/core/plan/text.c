/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/plan.h"

#include "util/text.h"
#include "util/xalloc.h"

char *plan_prefix(Operation operation, const char *group, const char *domain)
{
	const char *between = operation == OPERATION_RELEASE  ? " from "
			      : operation == OPERATION_VERIFY ? " in "
							      : " to ";

	if (!domain || operation == OPERATION_BIND || operation == OPERATION_UNBIND ||
	    operation == OPERATION_RECONCILE || operation == OPERATION_PREPARE)
		return strf("cannot %s%s%s", operation_to_string(operation), group ? " " : "",
			    str_or_empty(group));
	if (!group && (operation == OPERATION_RELEASE || operation == OPERATION_VERIFY))
		between = " ";
	return strf("cannot %s%s%s%s%s", operation_to_string(operation), group ? " " : "",
		    str_or_empty(group), between, domain);
}

static char *count(size_t n, const char *what)
{
	return strf("%zu %s%s", n, what, n == 1 ? "" : "s");
}

/* "IOMMU groups 57,60 viable; no holders", but for nvidia-persistenced, which is yet to let go. */
static char *preflight_detail(const Plan *plan)
{
	_cleanup_strv_ char **groups = NULL;
	_cleanup_free_ char *list = NULL;
	bool kept = false;

	if (plan->operation == OPERATION_RELEASE || plan->operation == OPERATION_UNBIND ||
	    plan->operation == OPERATION_PREPARE)
		return xstrdup("nothing changed since it was planned");
	EACH (const PlanFunction, f, plan->functions, plan->n_functions) {
		_cleanup_free_ char *number = strf("%d", f->iommu_group);

		kept |= f->kept_by > 0 && plan_function_loses_persistence(f);
		if (!strv_contains(groups, number))
			strv_append(&groups, number);
	}
	list = strv_join(groups, ",");
	return strf("IOMMU group%s %s viable; no %sholders", strv_length(groups) == 1 ? "" : "s",
		    list, kept ? "other " : "");
}

static char *define_detail(const Plan *plan)
{
	if (plan->operation == OPERATION_RELEASE)
		return strf("%s without %s", plan->domain_name, plan->group);
	if (plan->assignment && plan->assignment->peer_access != PEER_ACCESS_OFF)
		return strf("%zu hostdevs, peer access over PCIe", plan->n_functions);
	return count(plan->n_functions, "hostdev");
}

static char *reset_detail(const Plan *plan)
{
	size_t n = COUNT(plan->functions, plan->n_functions, it->reset != PLAN_RESET_NOT);

	return count(n, "function");
}

/* Only what steps of this plan have changed is read again. */
static char *verify_detail(const Plan *plan)
{
	bool drivers = plan_has_step(plan, STEP_BIND) || plan_has_step(plan, STEP_RESTORE);
	bool xml = plan_has_step(plan, STEP_DEFINE) || plan_has_step(plan, STEP_ATTACH) ||
		   plan_has_step(plan, STEP_DETACH);

	return xstrdup(drivers && xml ? "drivers and XML re-read"
		       : drivers      ? "drivers re-read"
		       : xml	      ? "XML re-read"
				      : "nothing to re-read");
}

char *plan_step_detail(const Plan *plan, StepKind step)
{
	switch (step) {
	case STEP_PREFLIGHT:
		return preflight_detail(plan);
	case STEP_BIND:
	case STEP_RESTORE:
		return count(plan_count_moves(plan), "function");
	case STEP_PERSISTENCE_OFF:
	case STEP_PERSISTENCE_ON:
		return count(plan_count_persistence(plan, step), "GPU");
	case STEP_ATTACH:
	case STEP_DETACH:
		return count(plan->n_functions, "function");
	case STEP_RESET:
		return reset_detail(plan);
	case STEP_DEFINE:
		return define_detail(plan);
	case STEP_VERIFY:
		return verify_detail(plan);
	case STEP_RECORD:
	case STEP_FORGET:
		return strf("%s for %s", plan->group, str_or_empty(plan->domain_name));
	case STEP_KEEP:
	case STEP_UNKEEP:
		return xstrdup(plan->group);
	case STEP_VFS:
		return count(plan->n_vfs, "VF");
	case STEP_ERASE:
		return count(plan_count_erases(plan), "NVMe");
	case STEP_KIND_MAX_:
		break;
	}
	return NULL;
}
