/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/claim.h"

#include "core/plan/plan.h"
#include "util/text.h"
#include "util/xalloc.h"

int job_check_free(const JobPlace *place, const JobRequest *request, Problem **ret_problem)
{
	const char *group = request->group ? request->group : request->target;

	return group ? claims_check_group(place->claims, group, ret_problem) : 0;
}

void job_mark_busy(const JobPlace *place, GroupSet *groups, const Group *own)
{
	for (size_t i = 0; i < groups->n_items; i++) {
		Group *group = &groups->items[i];
		_cleanup_(problem_freep) Problem *problem = NULL;
		size_t n;
		_cleanup_free_ Bdf *functions = group_addresses(group, &n);

		if (group == own ||
		    claims_check(place->claims, functions, n, NULL, &problem) != PROBLEM)
			continue;
		group->assignable = false;
		group->state = problem->error == GPUPASS_ERROR_QUARANTINED ? GROUP_QUARANTINED
									   : GROUP_BINDING;
		free(group->reason);
		group->reason = TAKE_PTR(problem->reason);
	}
}

/*
 * Where each function goes is decided by the plan, which comes after the claim.
 */
static bool touches_nvidia(const JobRequest *request, const Group *group)
{
	bool gives = request->operation == OPERATION_UNBIND ||
		     (request->operation == OPERATION_RELEASE && !request->keep_vfio);

	for (size_t i = 0; !gives && i < group->n_gpus; i++)
		gives = str_equal(group->gpus[i]->lead->driver, NVIDIA_DRIVER);
	return gives;
}

/* true: the group that it has chosen went to another job, and it may choose again. */
static bool may_choose_again(const JobPlace *place, const JobRequest *request,
			     const char *domain_uuid)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	return request->operation == OPERATION_ASSIGN && !request->group &&
	       claims_check(place->claims, NULL, 0, domain_uuid, &problem) == 0;
}

/* Who is refused the group must not keep a release of it waiting. */
static int check_record(const Prepared *p, const char *domain_uuid, Problem **ret_problem)
{
	const PlanFacts facts = {
		.groups = p->inventory->groups,
		.group = p->group,
		.uses = p->uses,
		.assignments = p->assignments,
	};

	return plan_check_record(&facts, domain_uuid, ret_problem);
}

int job_claim(const JobPlace *place, const JobRequest *request, const Prepared *p, uint32_t job,
	      uint64_t looked, Problem **ret_problem)
{
	const char *domain_uuid = p->domain ? p->domain->uuid : NULL;
	_cleanup_(footprint_clear) Footprint footprint =
		footprint_of_group(p->inventory->snapshot, p->group);
	const ClaimRequest claim = {
		.kind = CLAIM_JOB,
		.job = job,
		.group = p->group->name,
		.footprint = &footprint,
		.domain_uuid = domain_uuid,
		.looked = looked,
		.ruled = place->ruled,
		.nvidia = touches_nvidia(request, p->group),
	};
	int r;

	r = claims_check(place->claims, footprint.functions, footprint.n_own, domain_uuid,
			 ret_problem);
	if (r == 0 && request->operation == OPERATION_ASSIGN)
		r = check_record(p, domain_uuid, ret_problem);
	if (r == 0 && job > 0)
		r = claims_take(place->claims, &claim, ret_problem);
	if (r != PROBLEM || job == 0 ||
	    !(claims_is_stale(place->claims, looked, &footprint.functions[0]) ||
	      may_choose_again(place, request, domain_uuid)))
		return r;
	*ret_problem = problem_free(*ret_problem);
	return -ESTALE;
}
