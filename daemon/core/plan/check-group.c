/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May anybody get this group at all? Checks its links, its boards, its state and its functions. */
#include "core/checks/checks.h"
#include "core/group/companion.h"
#include "core/plan/plan.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static bool differs_in_model(const Group *group)
{
	for (size_t i = 1; i < group->n_gpus; i++)
		if (!gpu_same_model(group->gpus[0], group->gpus[i]))
			return true;
	return false;
}

/* The error name for the fault of a group. core/group/check.c finds the fault. */
static GpupassError fault_error(const Group *group)
{
	const Board *board = group->n_gpus > 0 ? group->gpus[0]->board : NULL;

	if (group->companion_fault)
		return GPUPASS_ERROR_SPLIT_GROUP;
	if (SOME_OF(group->gpus, group->n_gpus, it->board && it->board->kind == NVLINK_SXM))
		return GPUPASS_ERROR_UNSUPPORTED_BOARD;
	if (SOME_OF(group->gpus, group->n_gpus, it->board && it->board->kind == NVLINK_NONE))
		return GPUPASS_ERROR_NOT_BRIDGED;
	if (group->seen_otherwise || differs_in_model(group) ||
	    (board && board->group_size > 0 && group->n_gpus > board->group_size))
		return GPUPASS_ERROR_NOT_BRIDGED;
	if (group->provenance == PROVENANCE_NONE)
		return GPUPASS_ERROR_LINKS_UNKNOWN;
	return group->n_gpus < 2 ? GPUPASS_ERROR_NO_SUCH_GPU : GPUPASS_ERROR_SPLIT_GROUP;
}

static char *fault_remedy(const Group *group)
{
	bool declared = group->provenance == PROVENANCE_DECLARED;

	if (group->seen_otherwise && declared)
		return strf(
			"check that the bridge is seated, or correct the declaration (%s); then: "
			"gpupass probe",
			str_or_empty(group->source));
	if (group->provenance == PROVENANCE_NONE)
		return strf(
			"look at the links: gpupass probe; or declare it: gpupass declare %s BDF "
			"BDF",
			group->name);
	if (group->seen_otherwise)
		return xstrdup("check that the bridge is seated, then: gpupass probe");
	if (declared)
		return strf("correct the declaration (%s), or gpupass forget %s",
			    str_or_empty(group->source), group->name);
	return xstrdup("check boards and bridge, then: gpupass rescan");
}

static int refuse_fault(const Group *group, Problem **ret_problem)
{
	return problem_refuse(ret_problem, fault_error(group),
			      .reason = xstrdup("the group cannot be used as it is"),
			      .cause = xstrdup(group->fault), .remedy = fault_remedy(group));
}

static char *links_remedy(const Planner *p, const char *addresses)
{
	const Group *group = p->facts->group;

	if (group->provenance != PROVENANCE_NONE)
		return strf("confirm it: gpupass declare %s %s\n"
			    "or accept all inferred groups: AcceptInferred=yes in gpupassd.conf",
			    group->name, addresses);
	if (group->n_gpus != 2)
		return xstrdup("declare those that are bridged: gpupass declare NAME BDF BDF");
	return strf("if they are bridged: gpupass declare %s %s",
		    group_set_find(p->facts->groups, "pair0") ? "NAME" : "pair0", addresses);
}

static int refuse_links(const Planner *p)
{
	const Group *group = p->facts->group;
	_cleanup_free_ char *list = gpu_addresses(group->gpus, group->n_gpus, " ");

	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_LINKS_UNKNOWN,
		.reason = group->provenance == PROVENANCE_NONE
				  ? xstrdup("which of its GPUs are bridged is not known")
				  : xstrdup("its NVLink bridge is inferred, not proven"),
		.cause = xstrdup(str_or_empty(group->reasoning)), .remedy = links_remedy(p, list));
}

static int refuse_quarantined(const Group *group, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_QUARANTINED,
		.reason = xstrdup("the group is quarantined"), .cause = xstrdup(group->reason),
		.remedy = strf("when its cause is gone: gpupass clear %s", group->name));
}

static int refuse_moving(const Group *group, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = strf("a job is at work on it (%s)", group_state_to_string(group->state)),
		.remedy = xstrdup("wait for it to end: gpupass jobs"));
}

int plan_check_state(const Planner *p)
{
	const Group *group = p->facts->group;

	switch (group->state) {
	case GROUP_QUARANTINED:
		return refuse_quarantined(group, p->ret_problem);
	case GROUP_BINDING:
	case GROUP_ATTACHING:
	case GROUP_DETACHING:
	case GROUP_RELEASING:
	case GROUP_ROLLING_BACK:
		return refuse_moving(group, p->ret_problem);
	/* The fence finds out who has it, from the domains themselves. */
	case GROUP_UNKNOWN:
	case GROUP_INFERRED:
	case GROUP_FREE:
	case GROUP_BOUND:
	case GROUP_UNREADY:
	case GROUP_ASSIGNED:
	case GROUP_DEGRADED:
	case GROUP_FOREIGN:
	case GROUP_STATE_MAX_:
		break;
	}
	return 0;
}

int plan_check_ready(const Planner *p)
{
	const Group *group = p->facts->group;
	char *lack = companions_lack(group);

	if (!lack)
		return 0;
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = xstrdup("it is not prepared for a domain yet"), .cause = lack,
		.remedy = strf("%sgpupass prepare %s",
			       group->state == GROUP_UNREADY
				       ? "gpupassd does that, if groups.d has no fault; or: "
				       : "",
			       group->name));
}

int plan_check_evidence(const Planner *p)
{
	const Group *group = p->facts->group;

	if (group->fault)
		return refuse_fault(group, p->ret_problem);
	if (group->provenance == PROVENANCE_NONE ||
	    (group->provenance == PROVENANCE_INFERRED && !p->facts->policy->accept_inferred))
		return refuse_links(p);
	return group->n_gpus > 0 ? 0 : -EINVAL;
}

/*
 * Assignments that cannot be read (core/facts/record.h). Such a file does not
 * say who has a group, so a group that it may be about is neither given away nor moved. A group
 * with a readable record is surely not in such a file, so it may be released and reconciled.
 */

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

/* ---- the register of checks, as a plan asks it ---- */

int plan_check_functions(const PlanFacts *facts, const PlanRequest *request, char ***ret_warnings,
			 Problem **ret_problem)
{
	const Group *group = facts->group;
	bool prepares = request->operation == OPERATION_PREPARE;
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);
	const CheckFacts checked = {
		.snapshot = facts->snapshot,
		.gpus = facts->gpus,
		.groups = facts->groups,
		.uses = facts->uses,
		.assignments = facts->assignments,
		.marks = facts->tenants,
		.policy = facts->policy,
		.inspection = facts->inspection,
		.machine = facts->host,
		.health = facts->health,
		.n_health = facts->n_health,
		.allow_boot_vga = request->allow_boot_vga,
		.gives_back = request->operation == OPERATION_RELEASE ||
			      request->operation == OPERATION_UNBIND,
		.detaches = request->operation == OPERATION_RELEASE && request->live,
	};
	_cleanup_(checks_clear) Checks c = {
		.facts = &checked,
		.gpus = (const Gpu *const *)group->gpus,
		.n_gpus = prepares ? 0 : group->n_gpus,
		.companions = group->companions,
		.n_companions = group->n_companions,
	};

	for (size_t i = 0; i < n; i++)
		if (!pci_snapshot_find(facts->snapshot, &functions[i]->bdf) ||
		    !inspection_find(facts->inspection, &functions[i]->bdf))
			return plan_refuse_vanished(&functions[i]->bdf, ret_problem);
	return checks_refuse(&c,
			     prepares		  ? REFUSES_ERASING
			     : checked.gives_back ? REFUSES_GIVING
						  : REFUSES_TAKING | WARNS_TAKING,
			     ret_warnings, ret_problem);
}

int plan_check_group_functions(Planner *p)
{
	return plan_check_functions(p->facts, p->request, &p->plan->warnings, p->ret_problem);
}
