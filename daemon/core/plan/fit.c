/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the domain fits the group, as part of the plan that gives it the group. */
#include "core/domain/xml-tune.h"
#include "core/plan/planner.h"

static int tell_applied(FitReport *report, const FitTune *tune)
{
	int r = 0;

	if (tune->nodeset)
		r = fit_add(report, FIT_APPLIED, FIT_INFO,
			    strf("memory from NUMA node %s is written into the definition",
				 tune->nodeset),
			    NULL);
	if (r == 0 && tune->cpuset)
		r = fit_add(report, FIT_APPLIED, FIT_INFO,
			    strf("vCPUs on CPUs %s is written into the definition", tune->cpuset),
			    NULL);
	if (r == 0 && tune->passthrough)
		r = fit_add(report, FIT_APPLIED, FIT_INFO,
			    strf("addresses as wide as the host's (maxphysaddr) are written into "
				 "the definition"),
			    NULL);
	if (r == 0 && tune->mmio_mb > 0)
		r = fit_add(report, FIT_APPLIED, FIT_INFO,
			    strf("a firmware window of %llu MiB (fw_cfg) is written into the "
				 "definition, past libvirt: the domain counts as tainted",
				 (unsigned long long)tune->mmio_mb),
			    NULL);
	return r;
}

static int refuse_fit(const Planner *p, const FitFinding *finding)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_DOES_NOT_FIT,
		.reason = strf("%s does not fit it", p->use.name),
		.cause = strf("%s (%s)", finding->what, fit_id_to_string(finding->id)),
		.remedy = strf("%s; or be advised only: --%s=advise", str_or_empty(finding->remedy),
			       str_starts_with(fit_id_to_string(finding->id), "numa") ? "numa"
										      : "fit"));
}

static int warn(Planner *p, const FitReport *report)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < report->n_items; i++) {
		const FitFinding *finding = &report->items[i];

		if (finding->severity < FIT_WARNING)
			continue;
		r = finding->remedy ? plan_warn(p->plan, "%s; %s", finding->what, finding->remedy)
				    : plan_warn(p->plan, "%s", finding->what);
	}
	return r;
}

static bool has_function(const Planner *p, const Gpu *gpu)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (bdf_equal(&p->functions[i]->bdf, &gpu->lead->bdf))
			return true;
	return false;
}

/* The GPU is in the domain's definition beside the group: another group of it, or somebody's. */
static bool is_beside(const Planner *p, const Gpu *gpu)
{
	const DomainHostdev *hostdev = domain_use_hostdev(&p->use, &gpu->lead->bdf);

	return hostdev && hostdev->config && !has_function(p, gpu);
}

/*
 * What the definition will have: the group, unless it leaves, and the GPUs that it has beside it.
 * They share one window for their BARs and one placement. Caller frees the list.
 */
static int facts_of(const Planner *p, const DomainXml *xml, FitFacts *ret,
		    const PciFunction ***ret_list)
{
	size_t own = p->request->operation == OPERATION_RELEASE ? 0 : p->n_functions, n = own;
	const GpuSet *gpus = p->facts->gpus;
	const PciFunction **list;

	for (size_t i = 0; i < gpus->n_gpus; i++)
		n += is_beside(p, &gpus->gpus[i]) ? gpus->gpus[i].n_functions : 0;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (n = 0; n < own; n++)
		list[n] = p->functions[n];
	for (size_t i = 0; i < gpus->n_gpus; i++)
		for (size_t k = 0; is_beside(p, &gpus->gpus[i]) && k < gpus->gpus[i].n_functions;
		     k++)
			list[n++] = gpus->gpus[i].functions[k];
	*ret = (FitFacts){
		.xml = xml,
		.functions = list,
		.n_functions = n,
		.host = p->facts->host,
		.within = true,
	};
	*ret_list = list;
	return 0;
}

int plan_tune(Planner *p, DomainXml *xml, FitTune *ret)
{
	_cleanup_free_ const PciFunction **list = NULL;
	FitFacts facts;
	int r = facts_of(p, xml, &facts, &list);

	if (r == 0)
		r = fit_tune(&facts, p->apply_numa, p->apply_fit, ret);
	return r < 0 ? r : domain_xml_tune(xml, ret);
}

int plan_tune_is_open(const Planner *p, bool *ret)
{
	bool numa = p->request->numa == FIT_APPLY, fit = p->request->fit == FIT_APPLY;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	_cleanup_free_ const PciFunction **list = NULL;
	FitFacts facts;
	int r;

	*ret = false;
	if (!numa && !fit)
		return 0;
	r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);
	if (r != 0)
		return r;
	r = facts_of(p, xml, &facts, &list);
	if (r == 0)
		r = fit_tune(&facts, numa, fit, &tune);
	*ret = tune.nodeset || tune.cpuset || tune.passthrough || tune.mmio_mb > 0;
	return r;
}

int plan_fit(Planner *p, const DomainXml *xml, bool within, const FitTune *tune)
{
	_cleanup_(fit_report_freep) FitReport *report = NULL;
	_cleanup_free_ const PciFunction **list = NULL;
	const FitFinding *finding;
	FitFacts facts;
	int r = facts_of(p, xml, &facts, &list);

	if (r < 0)
		return r;
	facts.running = p->plan->live;
	facts.within = within;
	/* A hotplug needs room for what is added. */
	if (!within)
		facts.n_functions = p->n_functions;
	r = fit_check(&facts, &report);
	if (r < 0)
		return r;
	finding = fit_refusal(report, p->request->numa, p->request->fit);
	if (finding)
		return refuse_fit(p, finding);
	r = warn(p, report);
	if (r == 0 && tune)
		r = tell_applied(report, tune);
	if (r == 0)
		p->plan->fit = TAKE_PTR(report);
	return r;
}

int plan_fit_running(Planner *p)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	int r;

	r = domain_xml_parse(p->facts->domain->live_xml, &xml, p->ret_problem);
	if (r == 0)
		r = plan_fit(p, xml, false, NULL);
	if (r == 0 && (p->request->numa == FIT_APPLY || p->request->fit == FIT_APPLY))
		r = plan_warn(p->plan,
			      "nothing is written so that %s fits: its definition is not changed",
			      p->use.name);
	return r;
}
