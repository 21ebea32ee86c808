/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/mark.h"
#include "core/plan/planner.h"

#include <string.h>

DEFINE_STRING_TABLE(operation, Operation, GPUPASS_OPERATIONS)
DEFINE_STRING_TABLE(step_kind, StepKind, STEP_KINDS)

static int copy_text(const char *from, char **ret)
{
	char *copy = NULL;

	if (from) {
		copy = strdup(from);
		if (!copy)
			return -ENOMEM;
	}
	free(*ret);
	*ret = copy;
	return 0;
}

int plan_add_step(Plan *plan, StepKind kind)
{
	StepKind *bigger = reallocarray(plan->steps, plan->n_steps + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	plan->steps = bigger;
	plan->steps[plan->n_steps++] = kind;
	return 0;
}

int plan_set_target(PlanFunction *function, const char *driver, const char *override)
{
	int r = copy_text(driver, &function->to_driver);

	return r < 0 ? r : copy_text(override, &function->to_override);
}

bool plan_function_moves(const PlanFunction *function)
{
	return !str_equal(function->from_driver, function->to_driver) ||
	       !str_equal(function->from_override, function->to_override);
}

size_t plan_count_moves(const Plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_functions; i++)
		n += plan_function_moves(&plan->functions[i]);
	return n;
}

static int refuse_vanished(const Bdf *bdf, Problem **ret_problem)
{
	int r = problem_set(ret_problem, GPUPASS_ERROR_NO_SUCH_GPU, "%s is no longer there",
			    BDF_TEXT(bdf));

	return r != PROBLEM ? r
			    : problem_remedy(*ret_problem,
					     "look for it in `lspci -s %s`, then: "
					     "gpupass rescan",
					     BDF_TEXT(bdf));
}

/* Off nvidia there is no mode, whatever was seen a moment before. */
static PersistenceMode observed_persistence(const Planner *p, const FunctionFacts *facts)
{
	const GpuPersistence *gpu =
		persistence_find(p->facts->persistence, p->facts->n_persistence, &facts->bdf);

	return gpu && str_equal(facts->driver, NVIDIA_DRIVER) ? gpu->mode : PERSISTENCE_UNKNOWN;
}

int plan_fill_functions(Planner *p)
{
	Plan *plan = p->plan;

	plan->functions = calloc(p->n_functions + 1, sizeof(PlanFunction));
	if (!plan->functions)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_functions; i++) {
		const PciFunction *function = p->functions[i];
		const FunctionFacts *facts = inspection_find(p->facts->inspection, &function->bdf);
		PlanFunction *into = &plan->functions[i];

		if (!facts)
			return refuse_vanished(&function->bdf, p->ret_problem);
		plan->n_functions = i + 1;
		into->bdf = function->bdf;
		into->iommu_group = function->iommu_group;
		if (copy_text(facts->driver, &into->from_driver) < 0 ||
		    copy_text(facts->driver_override, &into->from_override) < 0 ||
		    plan_set_target(into, facts->driver, facts->driver_override) < 0)
			return -ENOMEM;
		into->from_persistence = observed_persistence(p, facts);
	}
	return 0;
}

int plan_target_vfio(Planner *p)
{
	for (size_t i = 0; i < p->plan->n_functions; i++) {
		PlanFunction *function = &p->plan->functions[i];
		const char *driver =
			driver_is_vfio(function->from_driver) ? function->from_driver : VFIO_PCI;
		int r;

		r = plan_set_target(function, driver, driver);
		if (r < 0)
			return r;
	}
	return 0;
}

bool plan_domain_is_ours(const Planner *p)
{
	const char *group = p->facts->group->name;

	return (str_equal(p->use.gpupass_group, group) && mark_counts(p->facts->groups, &p->use)) ||
	       (p->record && str_equal(p->record->domain_uuid, p->use.uuid));
}

size_t plan_count_hostdevs(const Planner *p, bool live)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_functions; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(&p->use, &p->functions[i]->bdf);

		n += hostdev && (live ? hostdev->live : hostdev->config);
	}
	return n;
}

static int refuse_mode(Problem **ret_problem, GpupassError error, const char *domain,
		       const char *what, const char *remedy)
{
	int r = problem_set(ret_problem, error, "%s %s", domain, what);

	return r != PROBLEM ? r : problem_remedy(*ret_problem, "%s", remedy);
}

int plan_resolve_mode(Planner *p)
{
	const PlanDomain *domain = p->facts->domain;
	const PlanRequest *request = p->request;
	bool any = request->live || request->config;

	bool persistent = domain->persistent && domain->config_xml;

	if (!persistent && request->operation == OPERATION_ASSIGN)
		return refuse_mode(p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, domain->name,
				   "is transient: it has no definition that could keep the group",
				   "define it first (virsh dumpxml, virsh define)");
	if (request->live && !domain->active)
		return refuse_mode(p->ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT, domain->name,
				   "is shut off, so there is nothing to change live",
				   "leave out --live, or start the domain");
	p->live = any ? request->live : domain->active;
	p->config = persistent && (any ? request->config : true);
	return 0;
}

/*
 * By function, else by name: then the boards are gone. Names that nobody declared may shift when
 * boards come and go, so a record whose functions another group has is that group's.
 */
static const Assignment *find_record(const Planner *p)
{
	const Assignment *named;

	for (size_t i = 0; i < p->n_functions; i++) {
		const Assignment *record =
			assignments_find_function(p->facts->assignments, &p->functions[i]->bdf);

		if (record)
			return record;
	}
	named = assignments_find_group(p->facts->assignments, p->facts->group->name);
	for (size_t i = 0; named && i < named->n_functions; i++)
		if (group_set_find_gpu(p->facts->groups, &named->functions[i].bdf))
			return NULL;
	return named;
}

static int fill_identity(Planner *p)
{
	const PlanDomain *domain = p->facts->domain;
	int r;

	r = copy_text(p->facts->group->name, &p->plan->group);
	if (r < 0 || !domain)
		return r;
	r = copy_text(domain->uuid, &p->plan->domain_uuid);
	return r < 0 ? r : copy_text(domain->name, &p->plan->domain_name);
}

/* Whether some domain has the group is part of every answer. */
static int refuse_without_libvirt(Problem **ret_problem)
{
	int r = problem_set(ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
			    "libvirt does not answer, so whether a domain has it is not known");

	return r != PROBLEM ? r
			    : problem_remedy(*ret_problem, "start libvirtd or virtqemud, then try "
							   "again");
}

static int run_planner(Planner *p)
{
	const PlanDomain *domain = p->facts->domain;
	int r;

	r = group_functions(p->facts->group, &p->functions, &p->n_functions);
	if (r == 0)
		r = fill_identity(p);
	if (r == 0 && domain && (domain->live_xml || domain->config_xml))
		r = domain_use_from_xml(domain->live_xml, domain->config_xml, &p->use,
					p->ret_problem);
	if (r != 0)
		return r;
	if (!p->facts->uses)
		return refuse_without_libvirt(p->ret_problem);
	p->record = find_record(p);
	if (p->record && (!domain || str_equal(p->record->domain_uuid, p->use.uuid)) &&
	    !str_equal(p->record->group_name, p->facts->group->name))
		p->old_name = p->record->group_name;
	switch (p->request->operation) {
	case OPERATION_ASSIGN:
		return domain ? plan_assign(p) : -EINVAL;
	case OPERATION_RELEASE:
		return plan_release(p);
	case OPERATION_BIND:
		return plan_bind(p);
	case OPERATION_UNBIND:
		return plan_unbind(p);
	case OPERATION_RECONCILE:
		return plan_reconcile(p);
	case OPERATION_VERIFY: /* changes nothing: job/verify.c */
	case OPERATION_PROBE:
	case OPERATION_MAX_:
		break;
	}
	return -EINVAL;
}

int plan_make(const PlanRequest *request, const PlanFacts *facts, Plan **ret, Problem **ret_problem)
{
	_cleanup_(plan_freep) Plan *plan = calloc(1, sizeof(*plan));
	Planner p = {
		.request = request,
		.facts = facts,
		.ret_problem = ret_problem,
		.plan = plan,
	};
	int r;

	if (!plan)
		return -ENOMEM;
	plan->operation = request->operation;
	plan->accept_dirty = request->accept_dirty;
	r = run_planner(&p);
	free(p.functions);
	domain_use_clear(&p.use);
	if (r != 0)
		return r;
	plan->changed = plan->n_steps > 0;
	/* No refusal: any user can make a process that cannot be looked at. */
	r = plan->changed ? inspection_tell_unseen(facts->inspection, &plan->warnings) : 0;
	if (r < 0)
		return r;
	*ret = TAKE_PTR(plan);
	return 0;
}

static int refuse_stale(const PlanFunction *function, const char *what, const char *was,
			const char *is, Problem **ret_problem)
{
	int r = problem_set(ret_problem, GPUPASS_ERROR_STALE_PLAN,
			    "something changed since it was planned");

	if (r != PROBLEM)
		return r;
	problem_cause(*ret_problem, "%s: %s was %s, now it is %s", BDF_TEXT(&function->bdf), what,
		      was ? was : "none", is ? is : "none");
	return problem_remedy(*ret_problem, "run the command again");
}

int plan_check_fresh(const Plan *plan, const Inspection *inspection, Problem **ret_problem)
{
	for (size_t i = 0; i < plan->n_functions; i++) {
		const PlanFunction *function = &plan->functions[i];
		const FunctionFacts *facts = inspection_find(inspection, &function->bdf);

		if (!facts)
			return refuse_vanished(&function->bdf, ret_problem);
		if (!str_equal(facts->driver, function->from_driver))
			return refuse_stale(function, "its driver", function->from_driver,
					    facts->driver, ret_problem);
		if (!str_equal(facts->driver_override, function->from_override))
			return refuse_stale(function, "its driver_override",
					    function->from_override, facts->driver_override,
					    ret_problem);
	}
	return 0;
}

const PlanBoard *plan_board(const Plan *plan, const Bdf *function)
{
	for (size_t i = 0; i < plan->n_boards; i++)
		if (bdf_same_slot(&plan->boards[i].last.bdf, function))
			return &plan->boards[i];
	return NULL;
}

Plan *plan_free(Plan *plan)
{
	if (!plan)
		return NULL;
	for (size_t i = 0; i < plan->n_boards; i++)
		tenant_mark_clear(&plan->boards[i].last);
	free(plan->boards);
	for (size_t i = 0; i < plan->n_functions; i++) {
		free(plan->functions[i].from_driver);
		free(plan->functions[i].from_override);
		free(plan->functions[i].to_driver);
		free(plan->functions[i].to_override);
		free(plan->functions[i].reset_method);
	}
	free(plan->functions);
	free(plan->group);
	free(plan->domain_uuid);
	free(plan->domain_name);
	free(plan->steps);
	free(plan->xml_before);
	free(plan->xml_after);
	strv_free(plan->hostdevs);
	strv_free(plan->warnings);
	fit_report_free(plan->fit);
	assignment_free(plan->assignment);
	free(plan);
	return NULL;
}
