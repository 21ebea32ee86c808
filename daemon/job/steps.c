/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/steps.h"

#include <string.h>

static const StepOps *const steps[] = {
	[STEP_PREFLIGHT] = &step_preflight, [STEP_BIND] = &step_bind,
	[STEP_DEFINE] = &step_define,	    [STEP_ATTACH] = &step_attach,
	[STEP_DETACH] = &step_detach,	    [STEP_RESTORE] = &step_restore,
	[STEP_VERIFY] = &step_verify,	    [STEP_RECORD] = &step_record,
	[STEP_FORGET] = &step_forget,
};
_Static_assert(ELEMENTS(steps) == STEP_KIND_MAX_, "every step kind has its operations");

const StepOps *step_ops(StepKind kind)
{
	return steps[kind];
}

void step_context_clear(StepContext *c)
{
	free(c->detail);
	free(c->defined_xml);
	free(c->stuck);
	free(c->stuck_functions);
	c->detail = c->defined_xml = c->stuck = NULL;
	c->stuck_functions = NULL;
}

/* The last look before the first write: what was true for the plan must still be. */
static int preflight(StepContext *c, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	_cleanup_free_ Bdf *functions = calloc(c->plan->n_functions + 1, sizeof(Bdf));
	const Prepared *p = c->prepared;
	int r;

	if (!functions)
		return -ENOMEM;
	for (size_t i = 0; i < c->plan->n_functions; i++)
		functions[i] = c->plan->functions[i].bdf;
	r = c->place->host->ops->inspect(c->place->host, functions, c->plan->n_functions, false,
					 &now);
	if (r == 0)
		r = plan_check_fresh(c->plan, now, ret_problem);
	/* A release finds the functions in the hands of the domain that it takes them from. */
	if (r == 0 && c->plan->operation != OPERATION_RELEASE)
		r = plan_check_functions(p->group, p->inventory->snapshot, now, p->assignments,
					 &p->request, ret_problem);
	return r;
}

const StepOps step_preflight = { .act = preflight };

/* Re-reads the post-condition of every other step of the plan. */
static int verify(StepContext *c, Problem **ret_problem)
{
	for (size_t i = 0; i < c->plan->n_steps && c->plan->steps[i] != STEP_VERIFY; i++) {
		const StepOps *ops = step_ops(c->plan->steps[i]);
		int r = ops->holds ? ops->holds(c, ret_problem) : 0;

		if (r != 0)
			return r;
	}
	return 0;
}

const StepOps step_verify = { .act = verify };

static int cannot_store(const Assignment *assignment, int error, Problem **ret_problem)
{
	int r = problem_set(ret_problem, GPUPASS_ERROR_INTERNAL,
			    "the assignment could not be stored: %s", strerror(-error));

	if (r != PROBLEM)
		return r;
	problem_cause(*ret_problem, "assignments.d/%s.json", assignment->domain_uuid);
	return problem_remedy(*ret_problem,
			      "see that the file system is writable and has space left");
}

static int record(StepContext *c, Problem **ret_problem)
{
	int r = assignment_store_save(c->place->store, c->plan->assignment);

	return r < 0 ? cannot_store(c->plan->assignment, r, ret_problem) : 0;
}

static int forget(StepContext *c, Problem **ret_problem)
{
	int r = assignment_store_remove(c->place->store, c->plan->assignment->domain_uuid);

	return r < 0 ? cannot_store(c->plan->assignment, r, ret_problem) : 0;
}

static int is_recorded(StepContext *c, bool wanted, Problem **ret_problem)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	int r = assignment_store_load(c->place->store, &all, NULL);

	if (r < 0)
		return r;
	if (!assignments_find_domain(all, c->plan->assignment->domain_uuid) == !wanted)
		return 0;
	return cannot_store(c->plan->assignment, wanted ? -ENOENT : -EEXIST, ret_problem);
}

static int recorded(StepContext *c, Problem **ret_problem)
{
	return is_recorded(c, true, ret_problem);
}

static int forgotten(StepContext *c, Problem **ret_problem)
{
	return is_recorded(c, false, ret_problem);
}

const StepOps step_record = { .act = record, .undo = forget, .holds = recorded };
const StepOps step_forget = { .act = forget, .undo = record, .holds = forgotten };
