/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/plan.h"

#include "core/domain/ref.h"
#include "core/group/record.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static void fill_identity(Planner *p)
{
	const VirtDomain *domain = p->facts->domain;

	p->plan->group = xstrdup(p->facts->group->name);
	if (!domain)
		return;
	p->plan->domain_uuid = xstrdup(domain->uuid);
	p->plan->domain_name = xstrdup(domain->name);
}

/* It has no XML. */
static int read_machine(Planner *p)
{
	const DomainUse *use = domain_uses_find(p->facts->uses, p->facts->domain->uuid);

	if (!use)
		return -ESTALE;
	domain_use_copy(use, &p->use);
	return 0;
}

/* A definition of ours would give it to QEMU twice, and a release would not take it away. */
static int check_arguments(const Planner *p)
{
	EACH_OF (const PciFunction, f, p->functions, p->n_functions) {
		const DomainHostdev *hostdev = domain_use_hostdev(&p->use, &f->bdf);

		if (hostdev && hostdev->argument)
			return problem_refuse(
				p->ret_problem, GPUPASS_ERROR_FOREIGN_OWNER,
				.reason = strf("%s has %s by a QEMU argument", p->use.name,
					       BDF_TEXT(&f->bdf)),
				.cause = xstrdup("its <qemu:commandline> or <qemu:override> names "
						 "it, past libvirt"),
				.remedy = strf("take that out, then try again: virsh edit %s",
					       domain_ref_word(p->use.name, p->use.uuid)));
	}
	return 0;
}

static int run_planner(Planner *p)
{
	const VirtDomain *domain = p->facts->domain;
	int r = 0;

	p->functions = group_functions(p->facts->group, &p->n_functions);
	fill_identity(p);
	if (domain && (domain->live_xml || domain->config_xml))
		r = domain_use_from_xml(domain->live_xml, domain->config_xml, &p->use,
					p->ret_problem);
	if (r == 0)
		r = check_arguments(p);
	if (r != 0)
		return r;
	/* Every answer depends on it. */
	if (!p->facts->uses)
		return domain_source_refuse(p->facts->policy->domains, "whether a domain has it",
					    p->ret_problem);
	r = domain && p->request->operation == OPERATION_BIND ? read_machine(p) : 0;
	if (r < 0)
		return r;
	p->record = group_record(p->facts->group, p->functions, p->n_functions, p->facts->groups,
				 p->facts->assignments);
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
	case OPERATION_PREPARE:
		return plan_prepare(p);
	case OPERATION_VERIFY: /* changes nothing: job/verify.c */
	case OPERATION_PROBE:
	case OPERATION_MAX_:
		break;
	}
	return -EINVAL;
}

int plan_make(const PlanRequest *request, const PlanFacts *facts, Plan **ret, Problem **ret_problem)
{
	_cleanup_(plan_freep) Plan *plan = xcalloc(1, sizeof(*plan));
	Planner p = {
		.request = request,
		.facts = facts,
		.ret_problem = ret_problem,
		.plan = plan,
	};
	int r;

	plan->operation = request->operation;
	plan->accept_dirty = request->accept_dirty;
	r = run_planner(&p);
	free(p.functions);
	domain_use_clear(&p.use);
	if (r != 0)
		return r;
	plan->changed = plan->n_steps > 0;
	/* Only a warning: any user can make a process that cannot be inspected. */
	if (plan->changed)
		inspection_tell_unseen(facts->inspection, &plan->warnings);
	*ret = TAKE_PTR(plan);
	return 0;
}

static int refuse_stale(const PlanFunction *function, const char *what, const char *was,
			const char *is, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_STALE_PLAN,
			      .reason = xstrdup("something changed since it was planned"),
			      .cause = strf("%s: %s was %s, now it is %s", BDF_TEXT(&function->bdf),
					    what, was ? was : "none", is ? is : "none"),
			      .remedy = xstrdup("run the command again"));
}

int plan_check_fresh(const Plan *plan, const Inspection *inspection, Problem **ret_problem)
{
	EACH (const PlanFunction, function, plan->functions, plan->n_functions) {
		const FunctionFacts *facts = inspection_find(inspection, &function->bdf);

		if (!facts)
			return plan_refuse_vanished(&function->bdf, ret_problem);
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
