/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of one domain's XML against its group. */
#include "core/checks/checks.h"
#include "core/domain/ref.h"

static const DomainUse *use_of(const Checks *c)
{
	return c->facts->uses ? domain_uses_find(c->facts->uses, c->facts->domain->uuid) : NULL;
}

static void judge_group(const Checks *c, const Group *group, Finding *f)
{
	const VirtDomain *domain = c->facts->domain;

	if (str_equal(group->domain_uuid, domain->uuid)) {
		finding_pass(f, "%s, %s", group->name, group_state_to_string(group->state));
		return;
	}
	finding_fail(f, group->name, "%s is in %s's XML, but not assigned to it: %s", group->name,
		     domain->name, str_or_empty(group_state_to_string(group->state)));
	finding_remedy(f, "gpupass status %s", group->name);
}

static void check_domain_group(const Checks *c, Finding *f)
{
	const VirtDomain *domain = c->facts->domain;

	for (size_t i = 0; i < c->n_groups; i++)
		judge_group(c, c->groups[i], f);
	if (c->n_groups > 0)
		return;
	finding_warn(f, domain->name, "%s has no group, and no GPU of any group", domain->name);
	finding_remedy(f, "gpupass assign %s GROUP", domain_ref_word(domain->name, domain->uuid));
}

/* Functions of the group that the domain lacks, in its running guest or in its definition. */
static bool check_side(const Group *group, const DomainUse *use, bool live, Finding *f)
{
	bool whole = true;
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);

	EACH_OF (const PciFunction, function, functions, n) {
		const DomainHostdev *hostdev = domain_use_hostdev(use, &function->bdf);

		if (hostdev && (live ? hostdev->live : hostdev->config))
			continue;
		whole = false;
		finding_fail(f, BDF_TEXT(&function->bdf), "%s is not in the %s of %s",
			     BDF_TEXT(&function->bdf), live ? "running guest" : "definition",
			     use->name);
	}
	return whole;
}

static void check_hostdevs(const Group *group, const DomainUse *use, Finding *f)
{
	bool whole = true;

	if (use->persistent)
		whole &= check_side(group, use, false, f);
	if (use->active)
		whole &= check_side(group, use, true, f);
	if (whole)
		finding_pass(f, "all functions of %s are there", group->name);
	else
		finding_remedy(f, "gpupass release %s, then: gpupass assign %s %s", group->name,
			       domain_ref_word(use->name, use->uuid), group->name);
}

static void check_domain_hostdevs(const Checks *c, Finding *f)
{
	const DomainUse *use = use_of(c);

	if (!use) {
		finding_unknown(f, NULL, "libvirt no longer has this domain");
		return;
	}
	if (use->unread) {
		finding_unknown(f, NULL, "its XML is not known: %s", use->unread);
		return;
	}
	for (size_t i = 0; i < c->n_groups; i++)
		check_hostdevs(c->groups[i], use, f);
}

/* ---- its XML ---- */

static void parse_domain(Checks *c)
{
	const VirtDomain *domain = c->facts->domain;
	const char *text = domain->config_xml ? domain->config_xml : domain->live_xml;
	_cleanup_(problem_freep) Problem *problem = NULL;

	if (!text || domain_xml_parse(text, &c->xml, &problem) != 0)
		c->xml_error = strf("its XML is not understood%s%s", problem ? ": " : "",
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
		has |= SOME_OF(functions, n, bdf_equal(&hostdevs[i].bdf, &it->bdf));
		free(hostdevs[i].alias);
	}
	return has;
}

void checks_read_domain(Checks *c)
{
	parse_domain(c);
	if (!c->xml)
		return;
	/* As if the domain were assigned its groups now, or started with them. */
	c->fit = fit_check(&(FitFacts){
		.xml = c->xml,
		.functions = c->functions,
		.n_functions = c->n_functions,
		.host = c->facts->machine,
		.started = c->facts->domain->active,
		.within = has_functions(c->xml, c->functions, c->n_functions),
	});
}

static void check_domain_acpi(const Checks *c, Finding *f)
{
	if (!c->xml) {
		finding_unknown(f, NULL, "%s", c->xml_error);
		return;
	}
	if (domain_xml_sees_hotplug(c->xml)) {
		finding_pass(f, "its guest can see a hotplug");
		return;
	}
	finding_warn(f, c->facts->domain->name,
		     "it has no ACPI, so its guest does not see a hotplug: assign and release work "
		     "only while it is shut off");
	finding_remedy(f, "add <acpi/> to its <features>");
}

/* ---- whether it fits: the findings of fit_check(), in its words ---- */

static void tell_fit(const Checks *c, const FitFinding *finding, Finding *f)
{
	const char *name = c->facts->domain->name;

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
static void check_fit(const Checks *c, Finding *f)
{
	if (!c->fit) {
		finding_unknown(f, NULL, "%s", c->xml_error);
		return;
	}
	for (size_t i = 0; i < c->fit->n_items; i++)
		if (f->check->fit >> c->fit->items[i].id & 1)
			tell_fit(c, &c->fit->items[i], f);
	for (size_t id = 0; id < FIT_ID_MAX_; id++)
		if ((f->check->fit >> id & 1) && c->fit->not_known[id])
			finding_unknown(f, NULL, "%s", c->fit->not_known[id]);
}

/* What the assignments of the domain asked for, and the group of the last that did. */
static const Group *wish_of(const Checks *c, bool *ret_fit, bool *ret_numa)
{
	const Group *group = NULL;
	const Assignment *record;
	size_t position = 0;

	*ret_fit = *ret_numa = false;
	while ((record = assignments_of_domain(c->facts->assignments, c->facts->domain->uuid,
					       &position))) {
		*ret_fit |= record->apply_fit;
		*ret_numa |= record->apply_numa;
		if (record->apply_fit || record->apply_numa)
			group = group_set_find_assigned(c->facts->groups, record);
	}
	return group;
}

static void tell_unapplied(const Checks *c, const Group *group, const FitTune *tune, Finding *f)
{
	const char *domain = c->facts->domain->name;
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
			       domain_ref_word(domain, c->facts->domain->uuid), group->name,
			       fit ? " --fit=apply" : "", numa ? " --numa=apply" : "");
	else
		finding_pass(f, "it is there, or an operator's own setting in its place");
}

/*
 * Whoever edits the definition may take out what --fit=apply and --numa=apply wrote. That is no
 * drift, but a report about the domain says so.
 */
static void check_domain_applied(const Checks *c, Finding *f)
{
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	FitFacts facts = { .host = c->facts->machine, .within = true };
	bool fit, numa;
	const Group *group = wish_of(c, &fit, &numa);

	if (!group) {
		finding_pass(f, "its assignment asked for neither");
		return;
	}
	if (!c->facts->domain->config_xml) {
		finding_skip(f, "it has no definition");
		return;
	}
	if (!c->xml) {
		finding_unknown(f, NULL, "%s", c->xml_error);
		return;
	}
	if (!facts.host) {
		finding_unknown(f, NULL, FIT_NO_HOST);
		return;
	}
	facts.xml = c->xml;
	facts.functions = c->functions;
	facts.n_functions = c->n_functions;
	tune = fit_tune(&facts, numa, fit);
	tell_unapplied(c, group, &tune, f);
}

#define FITS "nothing is known against it"
#define FIT(id) (1U << FIT_##id)

const Check checks_of_domain[] = {
	CHECK("domain-group", "The domain's group", NEEDS_DOMAIN | WANTS_DOMAINS,
	      check_domain_group, NULL, SEE_TABLE,
	      "the domain's XML, from libvirt; the assignments on disk"),
	CHECK("domain-hostdevs", "Hostdevs of the domain",
	      NEEDS_DOMAIN | NEEDS_GROUP | NEEDS_LIBVIRT, check_domain_hostdevs, NULL, SEE_TABLE,
	      "the hostdevs in the definition and in the running guest, from libvirt"),
	CHECK("domain-machine", "Machine type", NEEDS_DOMAIN, check_fit, FITS, SEE_TABLE,
	      "the domain's XML, from libvirt", .fit = FIT(MACHINE_TYPE) | FIT(ROOT_PORTS)),
	CHECK("domain-acpi", "Hotplug", NEEDS_DOMAIN, check_domain_acpi, NULL, "unsupporteddomain",
	      "the domain's XML, from libvirt"),
	CHECK("domain-window", "Address space for BARs", NEEDS_DOMAIN | NEEDS_GROUP, check_fit,
	      FITS, SEE_TABLE,
	      "the domain's XML, from libvirt; BARs and address bits, read by the scan",
	      .fit = FIT(BAR_WINDOW) | FIT(HOTPLUG_WINDOW) | FIT(SLOW_START)),
	CHECK("domain-hugepages", "Huge pages", NEEDS_DOMAIN, check_fit, FITS, SEE_TABLE,
	      "the domain's XML, from libvirt; free huge pages in sysfs, read by the scan",
	      .fit = FIT(HUGEPAGES) | FIT(PINNING)),
	CHECK("domain-memlock", "Memory that is locked", NEEDS_DOMAIN, check_fit, FITS, SEE_TABLE,
	      "the domain's XML, from libvirt; the host's memory, read by the scan",
	      .fit = FIT(MEMLOCK) | FIT(MEMORY) | FIT(VIOMMU)),
	CHECK("domain-numa", "NUMA placement", NEEDS_DOMAIN | NEEDS_GROUP, check_fit, FITS,
	      SEE_TABLE, "the domain's XML, from libvirt; NUMA nodes in sysfs, read by the scan",
	      .fit = FIT(NUMA_MEMORY) | FIT(NUMA_CPUS) | FIT(NUMA_SPREAD)),
	CHECK("domain-clique", "GPUDirect clique", NEEDS_DOMAIN, check_fit, FITS, SEE_TABLE,
	      "the domain's XML, from libvirt", .fit = FIT(CLIQUE)),
	CHECK("domain-security", "Encrypted memory", NEEDS_DOMAIN, check_fit, FITS,
	      "encrypted-guests", "the domain's XML, from libvirt", .fit = FIT(LAUNCH_SECURITY)),
	CHECK("domain-applied", "What --fit=apply and --numa=apply write",
	      NEEDS_DOMAIN | NEEDS_GROUP, check_domain_applied, NULL, SEE_TABLE,
	      "the definition's XML, from libvirt; what the assignment asked for, on disk"),
	{ 0 },
};
