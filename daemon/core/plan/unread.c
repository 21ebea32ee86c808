/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignments that cannot be read (core/facts/assignment.h, AssignmentFence). Such a file does not
 * say who has a group, so a group that it may be about is neither given away nor moved. A group
 * with a readable record is surely not in such a file, so it may be released and reconciled.
 */
#include "core/plan/planner.h"

#include "util/xalloc.h"

static int refuse_fence(const Planner *p, const AssignmentFence *fence, const char *reason)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_GROUP_BUSY, .reason = xstrdup(reason),
			      .cause = assignment_fence_what(fence),
			      .remedy = xstrdup(assignment_fence_remedy(fence)));
}

/* The UUID of the domain, or that of the record if the domain is gone. */
static const char *domain_of(const Planner *p)
{
	if (p->facts->domain)
		return p->facts->domain->uuid;
	return p->record ? p->record->domain_uuid : NULL;
}

int plan_check_unread(const Planner *p)
{
	_cleanup_free_ Bdf *functions = group_addresses(p->facts->group, NULL);
	const AssignmentFence *fence;
	const char *domain = domain_of(p);

	fence = assignments_fence(p->facts->assignments, functions, p->n_functions, domain);
	if (!fence)
		return 0;
	if (assignment_fence_is_about(fence, functions, p->n_functions, domain))
		return refuse_fence(p, fence, "it is in an assignment that cannot be read");
	return refuse_fence(p, fence, "it may be in an assignment that cannot be read");
}

int plan_check_newer(const Planner *p)
{
	const Assignments *all = p->facts->assignments;
	_cleanup_free_ Bdf *functions = group_addresses(p->facts->group, NULL);
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n_fences; i++)
		if (all->fences[i].kind != ASSIGNMENT_DAMAGED &&
		    assignment_fence_is_about(&all->fences[i], functions, p->n_functions,
					      domain_of(p)))
			r = refuse_fence(
				p, &all->fences[i],
				"it is in an assignment that cannot be read, and that would be "
				"lost");
	return r;
}
