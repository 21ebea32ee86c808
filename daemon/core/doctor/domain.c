/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of one domain's XML against its group. */
#include "core/doctor/checks.h"
#include "core/domain/ref.h"
#include "core/fit/fit.h"
#include "util/xalloc.h"

static const DomainUse *doctor_use(const Doctor *d)
{
	return d->facts->uses ? domain_uses_find(d->facts->uses, d->facts->domain->uuid) : NULL;
}

static void doctor_judge_group(const Doctor *d, const Group *group, Finding *f)
{
	const VirtDomain *domain = d->facts->domain;

	if (str_equal(group->domain_uuid, domain->uuid)) {
		finding_pass(f, "%s, %s", group->name, group_state_to_string(group->state));
		return;
	}
	finding_fail(f, group->name, "%s is in %s's XML, but not assigned to it: %s", group->name,
		     domain->name, str_or_empty(group_state_to_string(group->state)));
	finding_remedy(f, "gpupass status %s", group->name);
}

void doctor_check_domain_group(const Doctor *d, Finding *f)
{
	const VirtDomain *domain = d->facts->domain;

	for (size_t i = 0; i < d->n_groups; i++)
		doctor_judge_group(d, d->groups[i], f);
	doctor_need_domains(d, f);
	if (d->n_groups > 0)
		return;
	finding_warn(f, domain->name, "%s has no group, and no GPU of any group", domain->name);
	finding_remedy(f, "gpupass assign %s GROUP", domain_ref_word(domain->name, domain->uuid));
}

/* Functions of the group that the domain lacks, in its running guest or in its definition. */
static bool doctor_check_side(const Group *group, const DomainUse *use, bool live, Finding *f)
{
	bool whole = true;

	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = 0; k < group->gpus[i]->n_functions; k++) {
			const Bdf *bdf = &group->gpus[i]->functions[k]->bdf;
			const DomainHostdev *hostdev = domain_use_hostdev(use, bdf);

			if (hostdev && (live ? hostdev->live : hostdev->config))
				continue;
			whole = false;
			finding_fail(f, BDF_TEXT(bdf), "%s is not in the %s of %s", BDF_TEXT(bdf),
				     live ? "running guest" : "definition", use->name);
		}
	return whole;
}

static void doctor_check_hostdevs(const Group *group, const DomainUse *use, Finding *f)
{
	bool whole = true;

	if (use->persistent)
		whole &= doctor_check_side(group, use, false, f);
	if (use->active)
		whole &= doctor_check_side(group, use, true, f);
	if (whole)
		finding_pass(f, "all functions of %s are there", group->name);
	else
		finding_remedy(f, "gpupass release %s, then: gpupass assign %s %s", group->name,
			       domain_ref_word(use->name, use->uuid), group->name);
}

void doctor_check_domain_hostdevs(const Doctor *d, Finding *f)
{
	const DomainUse *use = doctor_use(d);

	if (!use) {
		finding_unknown(f, NULL, "libvirt no longer has this domain");
		return;
	}
	if (use->unread) {
		finding_unknown(f, NULL, "its XML is not known: %s", use->unread);
		return;
	}
	for (size_t i = 0; i < d->n_groups; i++)
		doctor_check_hostdevs(d->groups[i], use, f);
}

/* ---- its XML ---- */

static void doctor_parse_domain(Doctor *d)
{
	const VirtDomain *domain = d->facts->domain;
	const char *text = domain->config_xml ? domain->config_xml : domain->live_xml;
	_cleanup_(problem_freep) Problem *problem = NULL;

	if (!text || domain_xml_parse(text, &d->xml, &problem) != 0)
		d->xml_error = strf("its XML is not understood%s%s", problem ? ": " : "",
				    problem ? problem->reason : "");
}

static bool has_functions(const DomainXml *xml, const PciFunction *const *functions, size_t n)
{
	_cleanup_free_ DomainHostdev *hostdevs = NULL;
	size_t n_hostdevs = 0;
	bool has = false;

	if (domain_xml_hostdevs(xml, &hostdevs, &n_hostdevs) < 0)
		return false;
	for (size_t i = 0; i < n_hostdevs; i++) {
		for (size_t k = 0; k < n; k++)
			has |= bdf_equal(&hostdevs[i].bdf, &functions[k]->bdf);
		free(hostdevs[i].alias);
	}
	return has;
}

const PciFunction **doctor_functions(const Doctor *d, size_t *ret_n)
{
	const PciFunction **functions;
	size_t n = 0;

	for (size_t i = 0; i < d->n_gpus; i++)
		n += d->gpus[i]->n_functions;
	functions = xcalloc(n + 1, sizeof(*functions));
	*ret_n = 0;
	for (size_t i = 0; i < d->n_gpus; i++)
		for (size_t k = 0; k < d->gpus[i]->n_functions; k++)
			functions[(*ret_n)++] = d->gpus[i]->functions[k];
	return functions;
}

/* Judges as if the domain were assigned its groups now, or started with them. */
static void doctor_fit_domain(Doctor *d, bool started)
{
	size_t n;
	_cleanup_free_ const PciFunction **functions = doctor_functions(d, &n);

	d->fit = fit_check(&(FitFacts){
		.xml = d->xml,
		.functions = functions,
		.n_functions = n,
		.host = d->facts->machine,
		.started = started,
		.within = has_functions(d->xml, functions, n),
	});
}

void doctor_read_domain(Doctor *d)
{
	if (!d->facts->domain)
		return;
	doctor_parse_domain(d);
	if (d->xml)
		doctor_fit_domain(d, d->facts->domain->active);
}

void doctor_check_domain_acpi(const Doctor *d, Finding *f)
{
	if (!d->xml) {
		finding_unknown(f, NULL, "%s", d->xml_error);
		return;
	}
	if (domain_xml_sees_hotplug(d->xml)) {
		finding_pass(f, "its guest can see a hotplug");
		return;
	}
	finding_warn(f, d->facts->domain->name,
		     "it has no ACPI, so its guest does not see a hotplug: assign and release work "
		     "only while it is shut off");
	finding_remedy(f, "add <acpi/> to its <features>");
}

/* ---- whether it fits: the findings of fit_check(), in its words ---- */

static void doctor_tell_fit(const Doctor *d, const FitFinding *finding, Finding *f)
{
	const char *name = d->facts->domain->name;

	switch (finding->severity) {
	case FIT_ERROR:
		finding_fail(f, name, "%s", finding->what);
		break;
	case FIT_WARNING:
		finding_warn(f, name, "%s", finding->what);
		break;
	default:
		finding_pass(f, "%s%s%s", finding->what, finding->remedy ? "; " : "",
			     str_or_empty(finding->remedy));
		return;
	}
	if (finding->remedy)
		finding_remedy(f, "%s", finding->remedy);
}

/* Where fit_check() knows too little for a finding, it says so in not_known[]. */
static void doctor_check_fit(const Doctor *d, Finding *f, const FitId *ids, size_t n)
{
	if (!d->fit) {
		finding_unknown(f, NULL, "%s", d->xml_error);
		return;
	}
	for (size_t i = 0; i < d->fit->n_items; i++)
		for (size_t k = 0; k < n; k++)
			if (d->fit->items[i].id == ids[k])
				doctor_tell_fit(d, &d->fit->items[i], f);
	for (size_t k = 0; k < n; k++)
		if (d->fit->not_known[ids[k]])
			finding_unknown(f, NULL, "%s", d->fit->not_known[ids[k]]);
	if (f->status == FINDING_SKIPPED)
		finding_pass(f, "nothing is known against it");
}

void doctor_check_domain_machine(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_MACHINE_TYPE, FIT_ROOT_PORTS };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

void doctor_check_domain_window(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_BAR_WINDOW, FIT_HOTPLUG_WINDOW, FIT_SLOW_START };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

void doctor_check_domain_hugepages(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_HUGEPAGES, FIT_PINNING };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

void doctor_check_domain_memlock(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_MEMLOCK, FIT_MEMORY, FIT_VIOMMU };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

void doctor_check_domain_numa(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_NUMA_MEMORY, FIT_NUMA_CPUS, FIT_NUMA_SPREAD };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

void doctor_check_domain_clique(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_CLIQUE };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

void doctor_check_domain_security(const Doctor *d, Finding *f)
{
	static const FitId ids[] = { FIT_LAUNCH_SECURITY };

	doctor_check_fit(d, f, ids, ELEMENTS(ids));
}

/* What the assignments of the domain asked for, and the group of the last that did. */
static const Group *doctor_wish(const Doctor *d, bool *ret_fit, bool *ret_numa)
{
	const Group *group = NULL;
	const Assignment *record;
	size_t position = 0;

	*ret_fit = *ret_numa = false;
	while ((record = assignments_of_domain(d->facts->assignments, d->facts->domain->uuid,
					       &position))) {
		*ret_fit |= record->apply_fit;
		*ret_numa |= record->apply_numa;
		if (record->apply_fit || record->apply_numa)
			group = group_set_find_assigned(d->facts->groups, record);
	}
	return group;
}

static void doctor_tell_unapplied(const Doctor *d, const Group *group, const FitTune *tune,
				  Finding *f)
{
	const char *domain = d->facts->domain->name;
	bool fit = tune->passthrough || tune->mmio_mb > 0, numa = tune->nodeset || tune->cpuset;

	if (fit)
		finding_warn(f, domain,
			     "%s was assigned with --fit=apply, but the definition lacks what "
			     "makes room for its BARs",
			     group->name);
	if (tune->nodeset)
		finding_warn(f, domain,
			     "%s was assigned with --numa=apply, but memory may come from other "
			     "NUMA nodes than %s",
			     group->name, tune->nodeset);
	if (tune->cpuset)
		finding_warn(f, domain,
			     "%s was assigned with --numa=apply, but vCPUs may run on other CPUs "
			     "than %s",
			     group->name, tune->cpuset);
	if (fit || numa)
		finding_remedy(f, "if this is not on purpose: gpupass assign %s %s%s%s",
			       domain_ref_word(domain, d->facts->domain->uuid), group->name,
			       fit ? " --fit=apply" : "", numa ? " --numa=apply" : "");
	else
		finding_pass(f, "it is there, or an operator's own setting in its place");
}

/*
 * Whoever edits the definition may take out what --fit=apply and --numa=apply wrote. That is no
 * drift, but a report about the domain says so.
 */
void doctor_check_domain_applied(const Doctor *d, Finding *f)
{
	_cleanup_free_ const PciFunction **functions = NULL;
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	FitFacts facts = { .host = d->facts->machine, .within = true };
	bool fit, numa;
	const Group *group = doctor_wish(d, &fit, &numa);

	if (!group) {
		finding_pass(f, "its assignment asked for neither");
		return;
	}
	if (!d->facts->domain->config_xml) {
		finding_skip(f, "it has no definition");
		return;
	}
	if (!d->xml) {
		finding_unknown(f, NULL, "%s", d->xml_error);
		return;
	}
	if (!facts.host) {
		finding_unknown(f, NULL, FIT_NO_HOST);
		return;
	}
	functions = doctor_functions(d, &facts.n_functions);
	facts.xml = d->xml;
	facts.functions = functions;
	tune = fit_tune(&facts, numa, fit);
	doctor_tell_unapplied(d, group, &tune, f);
}
