/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The register of checks, as a plan asks it. */
#include "core/checks/checks.h"
#include "core/plan/plan.h"
#include "core/plan/planner.h"

int plan_check_functions(const PlanFacts *facts, const PlanRequest *request, char ***ret_warnings,
			 Problem **ret_problem)
{
	const Group *group = facts->group;
	const CheckFacts checked = {
		.snapshot = facts->snapshot,
		.gpus = facts->gpus,
		.groups = facts->groups,
		.uses = facts->uses,
		.assignments = facts->assignments,
		.policy = facts->policy,
		.inspection = facts->inspection,
		.machine = facts->host,
		.allow_boot_vga = request->allow_boot_vga,
		.gives_back = request->operation == OPERATION_RELEASE ||
			      request->operation == OPERATION_UNBIND,
		.detaches = request->operation == OPERATION_RELEASE && request->live,
	};
	_cleanup_(checks_clear) Checks c = {
		.facts = &checked,
		.gpus = (const Gpu *const *)group->gpus,
		.n_gpus = group->n_gpus,
	};
	_cleanup_free_ Bdf *functions = group_addresses(group, NULL);
	size_t n = 0;

	for (size_t i = 0; i < group->n_gpus; i++)
		n += group->gpus[i]->n_functions;
	for (size_t i = 0; i < n; i++)
		if (!pci_snapshot_find(facts->snapshot, &functions[i]) ||
		    !inspection_find(facts->inspection, &functions[i]))
			return plan_refuse_vanished(&functions[i], ret_problem);
	return checks_refuse(&c,
			     checked.gives_back ? REFUSES_GIVING : REFUSES_TAKING | WARNS_TAKING,
			     ret_warnings, ret_problem);
}

int plan_check_group_functions(Planner *p)
{
	return plan_check_functions(p->facts, p->request, &p->plan->warnings, p->ret_problem);
}
