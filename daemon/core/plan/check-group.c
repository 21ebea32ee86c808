/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May anybody get this group at all? Checks its links, its boards and its state. */
#include "core/plan/planner.h"

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

	for (size_t i = 0; i < group->n_gpus; i++)
		if (group->gpus[i]->board && group->gpus[i]->board->kind == NVLINK_SXM)
			return GPUPASS_ERROR_UNSUPPORTED_BOARD;
	for (size_t i = 0; i < group->n_gpus; i++)
		if (group->gpus[i]->board && group->gpus[i]->board->kind == NVLINK_NONE)
			return GPUPASS_ERROR_NOT_BRIDGED;
	if (group->seen_otherwise || differs_in_model(group) ||
	    (board && board->group_size > 0 && group->n_gpus > board->group_size))
		return GPUPASS_ERROR_NOT_BRIDGED;
	if (group->provenance == PROVENANCE_NONE)
		return GPUPASS_ERROR_LINKS_UNKNOWN;
	return group->n_gpus < 2 ? GPUPASS_ERROR_NO_SUCH_GPU : GPUPASS_ERROR_SPLIT_GROUP;
}

static int refuse_fault(const Group *group, Problem **ret_problem)
{
	int r = problem_set(ret_problem, fault_error(group), "the group cannot be used as it is");

	if (r != PROBLEM)
		return r;
	problem_cause(*ret_problem, "%s", group->fault);
	if (group->seen_otherwise && group->provenance == PROVENANCE_DECLARED)
		return problem_remedy(*ret_problem,
				      "check that the bridge is seated, or correct the declaration "
				      "(%s); then: gpupass probe",
				      str_or_empty(group->source));
	if (group->provenance == PROVENANCE_NONE)
		return problem_remedy(*ret_problem,
				      "look at the links: gpupass probe; or declare "
				      "it: gpupass declare %s BDF BDF",
				      group->name);
	if (group->seen_otherwise)
		return problem_remedy(*ret_problem,
				      "check that the bridge is seated, then: gpupass probe");
	if (group->provenance == PROVENANCE_DECLARED)
		return problem_remedy(*ret_problem,
				      "correct the declaration (%s), or gpupass forget %s",
				      str_or_empty(group->source), group->name);
	return problem_remedy(*ret_problem, "check boards and bridge, then: gpupass rescan");
}

static int refuse_links(const Planner *p)
{
	const Group *group = p->facts->group;
	_cleanup_free_ char *list = gpu_addresses(group->gpus, group->n_gpus, " ");
	int r;

	if (!list)
		return -ENOMEM;
	if (group->provenance == PROVENANCE_NONE)
		r = problem_set(p->ret_problem, GPUPASS_ERROR_LINKS_UNKNOWN,
				"which of its GPUs are bridged is not known");
	else
		r = problem_set(p->ret_problem, GPUPASS_ERROR_LINKS_UNKNOWN,
				"its NVLink bridge is inferred, not proven");
	if (r != PROBLEM)
		return r;
	problem_cause(*p->ret_problem, "%s", str_or_empty(group->reasoning));
	if (group->provenance == PROVENANCE_NONE && group->n_gpus == 2)
		return problem_remedy(*p->ret_problem, "if they are bridged: gpupass declare %s %s",
				      group_set_find(p->facts->groups, "pair0") ? "NAME" : "pair0",
				      list);
	if (group->provenance == PROVENANCE_NONE)
		return problem_remedy(
			*p->ret_problem,
			"declare those that are bridged: gpupass declare NAME BDF BDF");
	return problem_remedy(*p->ret_problem,
			      "confirm it: gpupass declare %s %s\n"
			      "or accept all inferred groups: AcceptInferred=yes in gpupassd.conf",
			      group->name, list);
}

static int refuse_quarantined(const Group *group, Problem **ret_problem)
{
	int r = problem_set(ret_problem, GPUPASS_ERROR_QUARANTINED, "the group is quarantined");

	if (r != PROBLEM)
		return r;
	if (group->reason)
		problem_cause(*ret_problem, "%s", group->reason);
	return problem_remedy(*ret_problem, "when its cause is gone: gpupass clear %s",
			      group->name);
}

static int refuse_moving(const Group *group, Problem **ret_problem)
{
	int r = problem_set(ret_problem, GPUPASS_ERROR_GROUP_BUSY, "a job is at work on it (%s)",
			    group_state_to_string(group->state));

	return r != PROBLEM ? r : problem_remedy(*ret_problem, "wait for it to end: gpupass jobs");
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
	case GROUP_ASSIGNED:
	case GROUP_DEGRADED:
	case GROUP_FOREIGN:
	case GROUP_STATE_MAX_:
		break;
	}
	return 0;
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
