/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignments that cannot be read (core/facts/record.h). Such a file does not
 * say who has a group, so a group that it may be about is neither given away nor moved. A group
 * with a readable record is surely not in such a file, so it may be released and reconciled.
 */
#include "core/plan/planner.h"

#include "util/xalloc.h"

static int refuse_fence(const Planner *p, const RecordFault *fence, const char *reason)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_GROUP_BUSY, .reason = xstrdup(reason),
			      .cause = record_fault_what(fence),
			      .remedy = xstrdup(record_fault_remedy(fence)));
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
	const RecordFault *fence;
	const char *domain = domain_of(p);

	fence = record_faults_find(&p->facts->assignments->faults, functions, p->n_functions,
				   p->facts->group->name, domain);
	if (!fence)
		return 0;
	if (record_fault_is_about(fence, functions, p->n_functions, p->facts->group->name, domain))
		return refuse_fence(p, fence, "it is in an assignment that cannot be read");
	return refuse_fence(p, fence, "it may be in an assignment that cannot be read");
}

int plan_check_newer(const Planner *p)
{
	const RecordFaults *all = &p->facts->assignments->faults;
	_cleanup_free_ Bdf *functions = group_addresses(p->facts->group, NULL);
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n_items; i++)
		if (all->items[i].what != RECORD_DAMAGED &&
		    record_fault_is_about(&all->items[i], functions, p->n_functions, NULL,
					  domain_of(p)))
			r = refuse_fence(
				p, &all->items[i],
				"it is in an assignment that cannot be read, and that would be "
				"lost");
	return r;
}
