/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/types.h"

#include "util/xalloc.h"

DEFINE_STRING_TABLE(operation, Operation, GPUPASS_OPERATIONS)

bool plan_function_moves(const PlanFunction *function)
{
	return !str_equal(function->from_driver, function->to_driver) ||
	       !str_equal(function->from_override, function->to_override);
}

size_t plan_count_moves(const Plan *plan)
{
	return COUNT(plan->functions, plan->n_functions, plan_function_moves(it));
}

bool plan_function_leaves_nvidia(const PlanFunction *function)
{
	return str_equal(function->from_driver, NVIDIA_DRIVER) &&
	       !str_equal(function->to_driver, NVIDIA_DRIVER);
}

bool plan_function_loses_persistence(const PlanFunction *function)
{
	return function->from_persistence == PERSISTENCE_ON &&
	       plan_function_leaves_nvidia(function);
}

/* A function that is on nvidia already has the mode that somebody gave it since. */
bool plan_function_regains_persistence(const PlanFunction *function)
{
	return function->to_persistence == PERSISTENCE_ON &&
	       !str_equal(function->from_driver, NVIDIA_DRIVER) &&
	       str_equal(function->to_driver, NVIDIA_DRIVER);
}

size_t plan_count_persistence(const Plan *plan, StepKind step)
{
	return COUNT(plan->functions, plan->n_functions,
		     step == STEP_PERSISTENCE_OFF ? plan_function_loses_persistence(it)
						  : plan_function_regains_persistence(it));
}

char *plan_device_xml(const Plan *plan, size_t i)
{
	const PlanFunction *f = &plan->functions[i];

	return f->mac ? domain_xml_interface(plan->group, i, &f->bdf, f->mac, f->vlan)
		      : domain_xml_hostdev(plan->group, i, &f->bdf);
}

bool plan_vfs_held(const Plan *plan, const DomainUse *use)
{
	return !SOME(plan->functions, plan->n_functions,
		     it->mac && !domain_use_has_vf(use, &it->bdf, it->mac, it->vlan));
}

bool plan_peers_held(const Plan *plan, PeerAccess wanted, const DomainUse *use)
{
	return wanted == PEER_ACCESS_OFF ||
	       EVERY(plan->functions, plan->n_functions,
		     it->companion || !plan_begins_board(plan, (size_t)(it - plan->functions)) ||
			     domain_use_has_clique(use, &it->bdf));
}

size_t plan_count_erases(const Plan *plan)
{
	return COUNT(plan->functions, plan->n_functions, it->erase);
}

Bdf *plan_addresses(const Plan *plan)
{
	return BDF_LIST(plan->functions, plan->n_functions);
}

bool plan_has_step(const Plan *plan, StepKind kind)
{
	return SOME_OF(plan->steps, plan->n_steps, it == kind);
}

bool plan_begins_slot(const Plan *plan, size_t i)
{
	return i == 0 || !bdf_same_slot(&plan->functions[i - 1].bdf, &plan->functions[i].bdf);
}

bool plan_begins_board(const Plan *plan, size_t i)
{
	return plan->functions[i].companion || plan_begins_slot(plan, i);
}

bool plan_is_on_board(const PlanFunction *function, const Bdf *lead)
{
	return function->companion ? bdf_equal(&function->bdf, lead)
				   : bdf_same_slot(&function->bdf, lead);
}

bool plan_resets(const Plan *plan)
{
	return SOME(plan->functions, plan->n_functions, it->reset != PLAN_RESET_NOT);
}

bool plan_resets_board(const Plan *plan, const Bdf *lead)
{
	bool leads = false;

	EACH (const PlanFunction, f, plan->functions, plan->n_functions) {
		if (!plan_is_on_board(f, lead))
			continue;
		if (f->reset == PLAN_RESET_NOT)
			return false;
		if (bdf_equal(&f->bdf, lead))
			leads = f->reset != PLAN_RESET_OWN || f->reset_method;
	}
	return leads;
}

const PlanBoard *plan_board(const Plan *plan, const Bdf *function)
{
	const PlanBoard *found = NULL;

	for (size_t i = 0; i < plan->n_boards; i++) {
		const Bdf *lead = &plan->boards[i].last.bdf;

		if (bdf_equal(lead, function))
			return &plan->boards[i];
		if (bdf_same_slot(lead, function))
			found = &plan->boards[i];
	}
	return found;
}

#include "types.inc"
