/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions are reset, and how: the next tenant must not get what a guest left. */
#include <string.h>

#include "core/plan/planner.h"

/* These methods of the kernel reset every function of the bus. */
static bool hits_bus(const char *method)
{
	return str_equal(method, "bus") || str_equal(method, "cxl_bus");
}

/* The kernel tries the methods in this order. */
static int first_method(const PciFunction *function, char **ret)
{
	const char *methods = function->reset_methods;

	if (str_is_empty(methods))
		return 0;
	*ret = strndup(methods, strcspn(methods, " "));
	return *ret ? 0 : -ENOMEM;
}

/* The driver that the function has when the reset step runs. */
static const char *driver_then(const Plan *plan, const PlanFunction *f)
{
	return plan->operation == OPERATION_RELEASE ? f->from_driver : f->to_driver;
}

/* On any other driver the host uses it, and a reset would disrupt that driver. */
static bool takes_part(const Plan *plan, const PlanFunction *f)
{
	const PlanBoard *board = plan_board(plan, &f->bdf);

	return driver_is_vfio(driver_then(plan, f)) &&
	       (plan->operation == OPERATION_RELEASE || (board && board->reset));
}

/* Refuses if any function outside the slot is on the same bus, whether of the group or not. */
static int check_bus(const Planner *p, const Bdf *bdf)
{
	const PciSnapshot *snapshot = p->facts->snapshot;

	for (size_t i = 0; i < snapshot->n_functions; i++) {
		const Bdf *other = &snapshot->functions[i].bdf;

		if (other->segment != bdf->segment || other->bus != bdf->bus ||
		    bdf_same_slot(other, bdf))
			continue;
		return problem_refuse(
			p->ret_problem, GPUPASS_ERROR_RESET_FAILED,
			.reason = strf("%s can be reset with its whole bus only", BDF_TEXT(bdf)),
			.cause = strf("%s is on the same bus and would be reset, too",
				      BDF_TEXT(other)),
			.remedy = strf("give each board a port of its own, or choose another way: "
				       "/sys/bus/pci/devices/%s/reset_method",
				       BDF_TEXT(bdf)));
	}
	return 0;
}

/* The leading function of a slot comes before the others: functions are sorted. */
static bool goes_with_lead(const Plan *plan, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (bdf_same_slot(&plan->functions[k].bdf, &plan->functions[i].bdf) &&
		    (plan->functions[k].reset == PLAN_RESET_SLOT ||
		     (plan->functions[k].reset == PLAN_RESET_OWN &&
		      hits_bus(plan->functions[k].reset_method))))
			return true;
	return false;
}

/*
 * Counts the functions of the slot in the snapshot, and those of the plan that are on a vfio
 * driver.
 */
static void count_slot(const Planner *p, const Bdf *bdf, size_t *ret_all, size_t *ret_ours)
{
	const PciSnapshot *snapshot = p->facts->snapshot;

	*ret_all = *ret_ours = 0;
	for (size_t i = 0; i < snapshot->n_functions; i++)
		*ret_all += bdf_same_slot(&snapshot->functions[i].bdf, bdf);
	for (size_t i = 0; i < p->plan->n_functions; i++)
		*ret_ours += bdf_same_slot(&p->plan->functions[i].bdf, bdf) &&
			     driver_is_vfio(driver_then(p->plan, &p->plan->functions[i]));
}

/*
 * A display function and its audio share a bus, so the kernel refuses a bus reset, which is the
 * only method of many boards. vfio resets the slot for a user who has all of its functions.
 */
static bool needs_slot_reset(const Planner *p, size_t i)
{
	const PlanFunction *f = &p->plan->functions[i];
	size_t all, ours;

	if (i > 0 && bdf_same_slot(&p->plan->functions[i - 1].bdf, &f->bdf))
		return false; /* not the leading function */
	if (f->reset_method && !hits_bus(f->reset_method))
		return false;
	count_slot(p, &f->bdf, &all, &ours);
	return all == ours && (all > 1 || !f->reset_method);
}

int plan_reset(Planner *p)
{
	for (size_t i = 0; i < p->plan->n_functions; i++) {
		PlanFunction *f = &p->plan->functions[i];
		int r;

		if (!takes_part(p->plan, f))
			continue;
		f->reset = goes_with_lead(p->plan, i) ? PLAN_RESET_WITH_LEAD : PLAN_RESET_OWN;
		if (f->reset != PLAN_RESET_OWN)
			continue;
		r = first_method(p->functions[i], &f->reset_method);
		if (r == 0 && needs_slot_reset(p, i))
			f->reset = PLAN_RESET_SLOT;
		if (r == 0 && (f->reset == PLAN_RESET_SLOT || hits_bus(f->reset_method)))
			r = check_bus(p, &f->bdf);
		if (r != 0)
			return r;
	}
	return 0;
}
