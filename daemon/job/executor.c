/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/executor.h"

#include <string.h>

#include "job/steps.h"
#include "util/clock.h"
#include "util/text.h"

typedef struct Run {
	StepContext context;
	const ExecutorListener *listener;
	size_t done; /* steps [0, done) have been acted on, the last perhaps in part */
} Run;

static void tell(Run *run, size_t step, StepState state, uint64_t since)
{
	run->listener->step(step, state, run->context.detail,
			    since > 0 ? now_monotonic() - since : 0, run->listener->userdata);
}

/* Anything a step returns becomes a problem: by here nothing may get lost. */
static int as_problem(int r, StepKind kind, Problem **ret_problem)
{
	if (r >= 0)
		return r;
	return problem_set(ret_problem, GPUPASS_ERROR_INTERNAL, "step \"%s\" failed: %s",
			   step_kind_to_string(kind), strerror(-r));
}

static int act(Run *run, size_t i, Problem **ret_problem)
{
	StepKind kind = run->context.plan->steps[i];
	uint64_t since = now_monotonic();
	int r;

	free(run->context.detail);
	run->context.detail = plan_step_detail(run->context.plan, kind);
	tell(run, i, STEP_RUNNING, 0);
	run->done = i + 1;
	r = as_problem(step_ops(kind)->act(&run->context, ret_problem), kind, ret_problem);
	tell(run, i, r == 0 ? STEP_DONE : STEP_FAILED, since);
	return r;
}

static int undo(Run *run, size_t i, Problem **ret_problem)
{
	StepKind kind = run->context.plan->steps[i];
	uint64_t since = now_monotonic();
	int r;

	if (!step_ops(kind)->undo)
		return 0;
	free(run->context.detail);
	run->context.detail = plan_step_detail(run->context.plan, kind);
	r = as_problem(step_ops(kind)->undo(&run->context, ret_problem), kind, ret_problem);
	tell(run, i, r == 0 ? STEP_UNDONE : STEP_UNDO_FAILED, since);
	return r;
}

/* All that can be undone is, also after one undo failed: less is left for a person to do. Except
 * behind a barrier, where an undo would make it worse. */
static int roll_back(Run *run, Problem **ret_problem)
{
	int result = 0;

	run->listener->rolling_back(run->listener->userdata);
	for (size_t i = run->done; i-- > 0;) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r = undo(run, i, &problem);

		if (r != 0 && result == 0) {
			*ret_problem = TAKE_PTR(problem);
			result = r;
		}
		if ((r != 0 || run->context.stuck) &&
		    step_ops(run->context.plan->steps[i])->barrier)
			break;
	}
	return result;
}

static bool wrote_something(const Run *run)
{
	for (size_t i = 0; i < run->done; i++)
		if (step_ops(run->context.plan->steps[i])->undo)
			return true;
	return false;
}

/* The failure that began it stays the problem; the undo's failure is what the operator must act
 * on, and goes into state and remedy. */
static int incomplete(Run *run, Problem **failure_owner, const Problem *undo_problem,
		      ExecutorResult *ret)
{
	const char *why = undo_problem ? undo_problem->reason : run->context.stuck;
	Problem *failure = *failure_owner;

	ret->quarantine = strdup(str_or_empty(why));
	if (!ret->quarantine)
		return -ENOMEM;
	if (undo_problem)
		failure->error = GPUPASS_ERROR_ROLLBACK_FAILED;
	problem_state(failure, "%s is quarantined: %s", run->context.plan->group, ret->quarantine);
	problem_remedy(failure, "%s",
		       undo_problem && undo_problem->remedy
			       ? undo_problem->remedy
			       : "see gpupass(1), QUARANTINE; other groups are not affected");
	ret->state = JOB_INCOMPLETE;
	ret->problem = TAKE_PTR(*failure_owner);
	return 0;
}

static int failed(Run *run, Problem **failure, ExecutorResult *ret)
{
	_cleanup_(problem_freep) Problem *undo_problem = NULL;
	int r;

	r = wrote_something(run) ? roll_back(run, &undo_problem) : 0;
	if (r != 0 && !undo_problem)
		return r < 0 ? r : -ENOMEM;
	if (r != 0 || run->context.stuck)
		return incomplete(run, failure, undo_problem, ret);
	if (wrote_something(run))
		problem_state(*failure, "everything was put back as it was");
	ret->state = JOB_FAILED;
	ret->problem = TAKE_PTR(*failure);
	return 0;
}

int execute(const JobPlace *place, const Prepared *prepared, uint64_t timeout_usec,
	    const ExecutorListener *listener, ExecutorResult *ret)
{
	_cleanup_(problem_freep) Problem *failure = NULL, *spare = NULL;
	Run run = {
		.context = {
			.place = place,
			.prepared = prepared,
			.plan = prepared->plan,
			.timeout_usec = timeout_usec,
		},
		.listener = listener,
	};
	ExecutorResult result = { .state = JOB_DONE };
	int r;

	/* Made beforehand: a run that finds no memory for its problem is still rolled back. */
	r = problem_set(&spare, GPUPASS_ERROR_INTERNAL, "out of memory");
	if (r < 0)
		return r;
	r = 0;
	for (size_t i = 0; r == 0 && i < prepared->plan->n_steps; i++)
		r = act(&run, i, &failure);
	if (r != 0) {
		if (!failure)
			failure = TAKE_PTR(spare);
		r = failed(&run, &failure, &result);
	}
	if (r >= 0)
		*ret = result;
	step_context_clear(&run.context);
	return r;
}

void executor_result_clear(ExecutorResult *result)
{
	problem_free(result->problem);
	free(result->quarantine);
	*result = (ExecutorResult){ 0 };
}
