/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/planner.h"

#include "core/group/keep.h"
#include "core/group/record.h"
#include "util/grow.h"

void plan_copy_text(const char *from, char **ret)
{
	char *copy = xstrdup(from);

	free(*ret);
	*ret = copy;
}

void plan_warn_of_functions(Planner *p, bool (*concerns)(const Planner *p, size_t function),
			    const char *before, const char *after)
{
	_cleanup_strv_ char **addresses = NULL;
	_cleanup_free_ char *list = NULL;

	for (size_t i = 0; i < p->plan->n_functions; i++)
		if (concerns(p, i))
			strv_append(&addresses, BDF_TEXT(&p->plan->functions[i].bdf));
	if (!addresses)
		return;
	list = strv_join(addresses, ", ");
	plan_warn(p->plan, "%s%s%s", before, list, after);
}

void plan_add_step(Plan *plan, StepKind kind, bool wanted)
{
	if (!wanted)
		return;
	*GROW(plan->steps, plan->n_steps) = kind;
}

void plan_set_target(PlanFunction *function, const char *driver, const char *override)
{
	plan_copy_text(driver, &function->to_driver);
	plan_copy_text(override, &function->to_override);
}

int plan_refuse_vanished(const Bdf *bdf, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_NO_SUCH_GPU,
			      .reason = strf("%s is no longer there", BDF_TEXT(bdf)),
			      .remedy = strf("look for it in `lspci -s %s`, then: gpupass rescan",
					     BDF_TEXT(bdf)));
}

/* A function that is not on nvidia has no mode, whatever was seen a moment before. */
static void observe_persistence(const Planner *p, const FunctionFacts *facts, PlanFunction *into)
{
	const GpuPersistence *gpu =
		persistence_find(p->facts->persistence, p->facts->n_persistence, &facts->bdf);

	if (!gpu || !str_equal(facts->driver, NVIDIA_DRIVER))
		return;
	into->from_persistence = gpu->mode;
	into->kept_by = gpu->kept_by;
}

int plan_fill_functions(Planner *p)
{
	Plan *plan = p->plan;

	plan->functions = xcalloc(p->n_functions + 1, sizeof(PlanFunction));
	for (size_t i = 0; i < p->n_functions; i++) {
		const PciFunction *function = p->functions[i];
		const FunctionFacts *facts = inspection_find(p->facts->inspection, &function->bdf);
		PlanFunction *into = &plan->functions[i];

		if (!facts)
			return plan_refuse_vanished(&function->bdf, p->ret_problem);
		plan->n_functions = i + 1;
		into->bdf = function->bdf;
		into->companion = group_companion(p->facts->group, &function->bdf) != NULL;
		if (group_has_vf(p->facts->group, &function->bdf)) {
			into->mac = domain_vf_mac(str_or_empty(p->use.uuid), &function->bdf,
						  p->facts->host_key);
			into->vlan = p->facts->group->vlan;
		}
		into->iommu_group = function->iommu_group;
		into->from_driver = xstrdup(facts->driver);
		into->from_override = xstrdup(facts->driver_override);
		plan_set_target(into, facts->driver, facts->driver_override);
		into->from_vfio = function_facts_on_vfio(facts);
		observe_persistence(p, facts, into);
		/* An older gpupass can read the journals of all other groups. */
		if (p->facts->group->n_companions > 0)
			*GROW(plan->were, plan->n_were) =
				group_identify(p->facts->group, function, p->facts->inspection);
	}
	return 0;
}

bool plan_driver_is_vfio(const PlanFunction *function, const char *driver)
{
	return driver_is_vfio(driver) ||
	       (function->from_vfio && str_equal(driver, function->from_driver));
}

void plan_target_vfio(Planner *p)
{
	EACH (PlanFunction, function, p->plan->functions, p->plan->n_functions) {
		const char *driver = function->from_vfio ? function->from_driver : VFIO_PCI;

		plan_set_target(function, driver, driver);
	}
}

bool plan_domain_is_ours(const Planner *p)
{
	const char *group = p->facts->group->name;

	return mark_counts(p->facts->groups, &p->use, group) ||
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
	return problem_refuse(ret_problem, error, .reason = strf("%s %s", domain, what),
			      .remedy = xstrdup(remedy));
}

int plan_resolve_mode(Planner *p)
{
	const VirtDomain *domain = p->facts->domain;
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
