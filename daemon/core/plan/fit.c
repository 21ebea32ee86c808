/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the domain fits the group, as part of the plan that gives it the group. */
#include "core/domain/xml-tune.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static void tell_applied(FitReport *report, const FitTune *tune)
{
	if (tune->nodeset)
		fit_add(report, FIT_APPLIED, FIT_INFO,
			strf("memory from NUMA node %s is written into the definition",
			     tune->nodeset),
			NULL);
	if (tune->cpuset)
		fit_add(report, FIT_APPLIED, FIT_INFO,
			strf("vCPUs on CPUs %s is written into the definition", tune->cpuset),
			NULL);
	if (tune->passthrough)
		fit_add(report, FIT_APPLIED, FIT_INFO,
			strf("addresses as wide as the host's (maxphysaddr) are written into "
			     "the definition"),
			NULL);
	if (tune->mmio_mb > 0)
		fit_add(report, FIT_APPLIED, FIT_INFO,
			strf("a firmware window of %llu MiB (fw_cfg) is written into the "
			     "definition, past libvirt: the domain counts as tainted",
			     (unsigned long long)tune->mmio_mb),
			NULL);
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

static void warn(Planner *p, const FitReport *report)
{
	EACH (const FitFinding, finding, report->items, report->n_items) {
		if (finding->severity < FIT_WARNING)
			continue;
		if (finding->remedy)
			plan_warn(p->plan, "%s; %s", finding->what, finding->remedy);
		else
			plan_warn(p->plan, "%s", finding->what);
	}
}

static bool has_function(const Planner *p, const Gpu *gpu)
{
	return SOME_OF(p->functions, p->n_functions, bdf_equal(&it->bdf, &gpu->lead->bdf));
}

/* The GPU is in the domain's definition beside the group: another group of it, or somebody's. */
static bool is_beside(const Planner *p, const Gpu *gpu)
{
	const DomainHostdev *hostdev = domain_use_hostdev(&p->use, &gpu->lead->bdf);

	return hostdev && hostdev->config && !has_function(p, gpu);
}

/*
 * What the definition will have: the group, unless it leaves, and the GPUs that it has beside it.
 * They share one window for their BARs and one placement. Returns the list of its functions.
 */
static const PciFunction **facts_of(const Planner *p, const DomainXml *xml, FitFacts *ret)
{
	size_t own = p->request->operation == OPERATION_RELEASE ? 0 : p->n_functions, n = own;
	const GpuSet *gpus = p->facts->gpus;
	const PciFunction **list;

	n += COUNT(gpus->gpus, gpus->n_gpus, is_beside(p, it) ? it->n_functions : 0);
	list = xcalloc(n + 1, sizeof(*list));
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
	return list;
}

static void find_tune(const Planner *p, const DomainXml *xml, bool numa, bool fit, FitTune *ret)
{
	FitFacts facts;
	_cleanup_free_ _unused_ const PciFunction **list = facts_of(p, xml, &facts);

	*ret = fit_tune(&facts, numa, fit);
}

int plan_tune(Planner *p, DomainXml *xml, FitTune *ret)
{
	find_tune(p, xml, p->apply_numa, p->apply_fit, ret);
	return domain_xml_tune(xml, ret);
}

int plan_tune_is_open(const Planner *p, bool *ret)
{
	bool numa = p->request->numa == FIT_APPLY, fit = p->request->fit == FIT_APPLY;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	int r;

	*ret = false;
	if (!numa && !fit)
		return 0;
	r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);
	if (r != 0)
		return r;
	find_tune(p, xml, numa, fit, &tune);
	*ret = tune.nodeset || tune.cpuset || tune.passthrough || tune.mmio_mb > 0;
	return 0;
}

int plan_fit(Planner *p, const DomainXml *xml, bool within, const FitTune *tune)
{
	_cleanup_(fit_report_freep) FitReport *report = NULL;
	FitFacts facts;
	_cleanup_free_ _unused_ const PciFunction **list = facts_of(p, xml, &facts);
	const FitFinding *finding;

	facts.running = p->plan->live;
	facts.within = within;
	/* A hotplug needs room for what is added. */
	if (!within)
		facts.n_functions = p->n_functions;
	report = fit_check(&facts);
	finding = fit_refusal(report, p->request->numa, p->request->fit);
	if (finding)
		return refuse_fit(p, finding);
	warn(p, report);
	if (tune)
		tell_applied(report, tune);
	p->plan->fit = TAKE_PTR(report);
	return 0;
}

int plan_fit_running(Planner *p)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	int r = domain_xml_parse(p->facts->domain->live_xml, &xml, p->ret_problem);

	if (r == 0)
		r = plan_fit(p, xml, false, NULL);
	if (r == 0 && (p->request->numa == FIT_APPLY || p->request->fit == FIT_APPLY))
		plan_warn(p->plan,
			  "nothing is written so that %s fits: its definition is not changed",
			  p->use.name);
	return r;
}
