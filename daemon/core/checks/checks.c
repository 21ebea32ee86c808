/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/checks/checks.h"

#include "util/grow.h"
#include "util/xalloc.h"

const Check *checks_at(size_t number)
{
	/* In the order of the report: a check comes after those that it depends on. */
	static const Check *const tables[] = {
		checks_of_host,	 checks_of_ids,	 checks_of_initramfs, checks_of_use,
		checks_of_nics,	 checks_of_nvme, checks_of_device,    checks_of_companions,
		checks_of_peers, checks_of_self, checks_of_domain,
	};

	for (size_t i = 0; i < ELEMENTS(tables); i++)
		for (const Check *check = tables[i]; check->id; check++)
			if (number-- == 0)
				return check;
	return NULL;
}

#include "checks.inc"

static void need_assignments(const Checks *c, Finding *f)
{
	const RecordFaults *faults = &c->facts->assignments->faults;

	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *what = record_fault_what(&faults->items[i]);

		finding_unknown(f, NULL, "what is assigned is not known: %s", what);
	}
}

static void need_inspection(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_gpus; i++) {
		const Bdf *bdf = &c->gpus[i]->lead->bdf;
		const Group *group = group_set_find_gpu(c->facts->groups, bdf);

		if (!checks_function(c, bdf))
			finding_unknown(f, BDF_TEXT(bdf), "%s was not inspected%s", BDF_TEXT(bdf),
					group && checks_busy(c, group) ? ": a job works on it"
								       : "");
	}
}

static void tell_unread(Finding *f, const char *what, const Problem *problem, int error)
{
	finding_unknown(f, NULL, "%s: %s", what,
			problem		      ? problem->cause
			: error == -ETIMEDOUT ? "it did not end within its time"
					      : strerror(-error));
	if (problem && problem->remedy)
		finding_remedy(f, "%s", problem->remedy);
}

/* False: the check cannot run, and the finding says why. */
static bool has_facts(const Checks *c, Finding *f)
{
	const CheckFacts *facts = c->facts;
	unsigned needs = f->check->needs;

	if ((needs & NEEDS_GROUP) && facts->domain && c->n_groups == 0)
		finding_skip(f, "%s has no group", facts->domain->name);
	else if ((needs & NEEDS_IOMMU) && !facts->snapshot->iommu)
		finding_skip(f, "the IOMMU is off");
	else if ((needs & NEEDS_GPUS) && c->n_gpus + c->n_companions == 0)
		finding_skip(f, "there is no GPU in a group");
	else if ((needs & NEEDS_NVMES) &&
		 !SOME(c->companions, c->n_companions, it->member.kind == MEMBER_NVME))
		finding_skip(f, "no group has an NVMe");
	else if ((needs & NEEDS_HOST) && !facts->host)
		tell_unread(f, "the host's setup could not be read", facts->host_problem,
			    facts->host_error);
	else if ((needs & NEEDS_INSPECTION) && !facts->inspection)
		tell_unread(f, "the GPUs could not be inspected", facts->inspection_problem,
			    facts->inspection_error);
	else if ((needs & NEEDS_LIBVIRT) && !facts->uses && facts->policy->domains == DOMAINS_NONE)
		finding_skip(f, "%s", domain_source_silence(facts->policy->domains));
	else if ((needs & NEEDS_LIBVIRT) && !facts->uses)
		checks_need_domains(c, f);
	else
		return true;
	return false;
}

/* ---- running them ---- */

static void run_check(const Checks *c, Finding *f)
{
	const Check *check = f->check;

	if (!has_facts(c, f))
		return;
	if (check->needs & WANTS_INSPECTION)
		need_inspection(c, f);
	if (check->needs & WANTS_DOMAINS)
		checks_need_domains(c, f);
	if (check->needs & WANTS_ASSIGNMENTS)
		need_assignments(c, f);
	check->run(c, f);
	if (check->nothing && f->status == FINDING_SKIPPED)
		finding_pass(f, "%s", check->nothing);
}

/* A group may be older than the snapshot. The snapshot counts. */
static void add_function(Checks *c, const PciFunction *then)
{
	const PciFunction *now = pci_snapshot_find(c->facts->snapshot, &then->bdf);

	c->functions[c->n_functions++] = now ? now : then;
}

static void find_functions(Checks *c)
{
	size_t n = c->n_companions + COUNT(c->gpus, c->n_gpus, (*it)->n_functions);

	c->functions = xcalloc(n + 1, sizeof(*c->functions));
	for (size_t i = 0; i < c->n_gpus; i++)
		for (size_t k = 0; k < c->gpus[i]->n_functions; k++)
			add_function(c, c->gpus[i]->functions[k]);
	for (size_t i = 0; i < c->n_companions; i++)
		if (c->companions[i].function)
			add_function(c, c->companions[i].function);
}

Findings checks_run(Checks *c, unsigned plans)
{
	Findings findings = { 0 };
	const Check *check;

	find_functions(c);
	if (c->facts->domain)
		checks_read_domain(c);
	for (size_t i = 0; (check = checks_at(i)); i++) {
		if (plans ? !(check->plans & plans)
			  : (check->needs & NEEDS_DOMAIN) && !c->facts->domain)
			continue;
		*GROW(findings.items, findings.n_items) = (Finding){ .check = check };
		run_check(c, &findings.items[findings.n_items - 1]);
	}
	return findings;
}

void checks_clear(Checks *c)
{
	free(c->functions);
	domain_xml_free(c->xml);
	fit_report_free(c->fit);
	free(c->xml_error);
}

/* ---- as a plan's refusal ---- */

static int refuse(const Finding *f, const FindingLine *line, Problem **ret_problem)
{
	_cleanup_strv_ char **causes = NULL;
	const char *remedy = NULL;

	for (const FindingLine *at = line; at < f->lines + f->n_lines; at++) {
		if (!remedy)
			remedy = at->remedy;
		if (line->reason && at->bars && str_equal(at->reason, line->reason))
			strv_append(&causes, at->what);
	}
	return problem_refuse(ret_problem, line->error,
			      .reason = xstrdup(line->reason ? line->reason : line->what),
			      .cause = causes ? strv_join(causes, "\n") : NULL,
			      .remedy = xstrdup(remedy));
}

int checks_refuse(Checks *c, unsigned plans, char ***ret_warnings, Problem **ret_problem)
{
	_cleanup_(findings_clear) Findings all = checks_run(c, plans);

	for (size_t i = 0; i < all.n_items; i++)
		for (size_t k = 0; k < all.items[i].n_lines; k++)
			if (all.items[i].lines[k].bars)
				return refuse(&all.items[i], &all.items[i].lines[k], ret_problem);
	for (size_t i = 0; ret_warnings && i < all.n_items; i++)
		EACH (const FindingLine, line, all.items[i].lines, all.items[i].n_lines)
			if ((all.items[i].check->plans & WARNS_TAKING & plans) &&
			    line->status >= FINDING_WARN)
				strv_appendf(ret_warnings, "%s; %s", line->what, line->remedy);
	return 0;
}
