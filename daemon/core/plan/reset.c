/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which functions are reset, and how: the next tenant must not get what a guest left. */

#include "core/checks/checks.h"
#include "core/facts/reset-report.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

/* These methods of the kernel reset every function of the bus. */
static bool hits_bus(const char *method)
{
	return str_equal(method, "bus") || str_equal(method, "cxl_bus");
}

/* The kernel tries the methods in this order. NULL: none, or none that counts. */
static char *first_method(const PciFunction *function)
{
	const char *methods = function->reset_methods;
	_cleanup_free_ char *first = NULL;

	if (str_is_empty(methods))
		return NULL;
	first = xstrndup(methods, strcspn(methods, " "));
	return reset_method_counts(first) ? TAKE_PTR(first) : NULL;
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

	return plan_driver_is_vfio(f, driver_then(plan, f)) &&
	       (plan->operation == OPERATION_RELEASE || (board && board->reset));
}

/* The leading function of a slot comes before the others: functions are sorted. */
static bool goes_with_lead(const Plan *plan, size_t i)
{
	return SOME(plan->functions, i,
		    bdf_same_slot(&it->bdf, &plan->functions[i].bdf) &&
			    (it->reset == PLAN_RESET_SLOT ||
			     (it->reset == PLAN_RESET_OWN && hits_bus(it->reset_method))));
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
		*ret_all += bdf_same_slot(&snapshot->functions[i]->bdf, bdf);
	for (size_t i = 0; i < p->plan->n_functions; i++)
		*ret_ours += bdf_same_slot(&p->plan->functions[i].bdf, bdf) &&
			     plan_driver_is_vfio(&p->plan->functions[i],
						 driver_then(p->plan, &p->plan->functions[i]));
}

/*
 * A display function and its audio share a bus, so the kernel refuses a bus reset, which is the
 * only method of many boards. vfio resets the slot for a user who has all of its functions.
 */
static bool needs_slot_reset(const Planner *p, size_t i, const char *method)
{
	const PlanFunction *f = &p->plan->functions[i];
	size_t all, ours;

	if (!plan_begins_slot(p->plan, i))
		return false; /* not the leading function */
	if (method && !hits_bus(method))
		return false;
	count_slot(p, &f->bdf, &all, &ours);
	return all == ours && (all > 1 || !method);
}

static int decide(const Planner *p, size_t i, bool with_lead, PlanReset *ret, char **ret_method,
		  Problem **ret_problem)
{
	*ret = with_lead ? PLAN_RESET_WITH_LEAD : PLAN_RESET_OWN;
	if (with_lead)
		return 0;
	*ret_method = first_method(p->functions[i]);
	if (needs_slot_reset(p, i, *ret_method))
		*ret = PLAN_RESET_SLOT;
	return *ret == PLAN_RESET_SLOT || hits_bus(*ret_method)
		       ? checks_refuse_bus_reset(p->facts->snapshot, &p->functions[i]->bdf,
						 ret_problem)
		       : 0;
}

/* lead: only of that board; NULL: of all. */
static int plan_reset_of(Planner *p, const Bdf *lead, Problem **ret_problem)
{
	for (size_t i = 0; i < p->plan->n_functions; i++) {
		PlanFunction *f = &p->plan->functions[i];
		int r;

		if (!takes_part(p->plan, f) || (lead && !plan_is_on_board(f, lead)))
			continue;
		r = decide(p, i, goes_with_lead(p->plan, i), &f->reset, &f->reset_method,
			   ret_problem);
		if (r != 0)
			return r;
	}
	return 0;
}

int plan_reset(Planner *p)
{
	return plan_reset_of(p, NULL, p->ret_problem);
}

int plan_reset_for_undo(Planner *p)
{
	bool with_lead = false;

	for (size_t i = 0; i < p->plan->n_functions; i++) {
		PlanFunction *f = &p->plan->functions[i];
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *method = NULL;
		int r;

		with_lead &= !plan_begins_slot(p->plan, i);
		if (!plan_driver_is_vfio(f, f->to_driver))
			continue;
		r = decide(p, i, with_lead, &f->undo_reset, &method, &problem);
		if (r < 0)
			return r;
		/* The assign is not refused for what its undo could not do. */
		if (r == PROBLEM)
			f->undo_reset = PLAN_RESET_NOT;
		else
			with_lead |= f->undo_reset == PLAN_RESET_SLOT || hits_bus(method);
	}
	return 0;
}

static void leave_out(Plan *plan, PlanBoard *board)
{
	board->reset = false;
	EACH (PlanFunction, f, plan->functions, plan->n_functions) {
		if (!plan_is_on_board(f, &board->last.bdf))
			continue;
		f->reset = PLAN_RESET_NOT;
		free(f->reset_method);
		f->reset_method = NULL;
	}
}

/* Of companions alone the links do not matter. */
static bool resets_gpus(const Planner *p)
{
	return SOME(p->plan->functions, p->plan->n_functions,
		    it->reset != PLAN_RESET_NOT && !it->companion);
}

int plan_reset_partners(Planner *p)
{
	/* In a running guest the partner may be in use, and keeps what it has. */
	bool running = p->facts->domain && p->facts->domain->active;

	if (!resets_gpus(p) || p->facts->group->n_gpus < 2 ||
	    (running && p->plan->operation != OPERATION_ASSIGN))
		return 0;
	EACH (PlanBoard, board, p->plan->boards, p->plan->n_boards) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r;

		if (board->reset)
			continue;
		board->reset = true;
		r = plan_reset_of(p, &board->last.bdf, &problem);
		if (r < 0)
			return r;
		/* It needs none: what cannot be reset refuses nothing here. */
		if (r == PROBLEM || !plan_resets_board(p->plan, &board->last.bdf)) {
			leave_out(p->plan, board);
			continue;
		}
		plan_warn(p->plan, "%s is reset with the others: its NVLinks lead to them",
			  BDF_TEXT(&board->last.bdf));
	}
	return 0;
}
