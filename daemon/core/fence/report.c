/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fence/report.h"

#include "core/domain/ref.h"
#include "core/domain/vgpu.h"
#include "core/group/record.h"
#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

/* One group and one domain that has a function of it. */
typedef struct Subject {
	const Group *group;
	const PciFunction **functions;
	size_t n;
	const DomainUse *use;
	bool ours; /* the domain has it by gpupass */
} Subject;

static bool holds(const Subject *s, size_t i, bool live)
{
	const DomainHostdev *hostdev = domain_use_hostdev(s->use, &s->functions[i]->bdf);

	return hostdev && (live ? hostdev->live : hostdev->config);
}

static size_t count(const Subject *s, bool live)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += holds(s, i, live);
	return n;
}

static const Bdf *first(const Subject *s, bool live, bool held)
{
	for (size_t i = 0; i < s->n; i++)
		if (holds(s, i, live) == held)
			return &s->functions[i]->bdf;
	return NULL;
}

static char *functions_text(const Subject *s, bool live)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (holds(s, i, live))
			strv_append(&addresses, BDF_TEXT(&s->functions[i]->bdf));
	return strv_join(addresses, ",");
}

static FenceFinding *finding_new(const Subject *s, bool live, char *functions, FenceReport *report)
{
	FenceFinding *f = GROW(report->items, report->n_items);

	f->running = live;
	f->group = xstrdup(s->group->name);
	f->domain_uuid = xstrdup(s->use->uuid);
	f->domain_name = xstrdup(s->use->name);
	f->functions = functions;
	return f;
}

static void add(const Subject *s, bool split, bool live, FenceReport *report)
{
	_cleanup_free_ char *edit = domain_ref_edit_command(s->use);
	FenceFinding *f = finding_new(s, live, functions_text(s, live), report);

	f->split = split;
	if (split)
		f->what = strf("SplitGroup: domain %s (%s) %s %s of %s and not with %s",
			       s->use->name, s->use->uuid, live ? "runs with" : "is defined with",
			       BDF_TEXT(first(s, live, true)), s->group->name,
			       BDF_TEXT(first(s, live, false)));
	else
		f->what =
			strf("domain %s (%s) %s %s, which is not assigned to it", s->use->name,
			     s->use->uuid, live ? "runs with" : "is defined with", s->group->name);
	if (s->ours)
		f->remedy = strf("gpupass reconcile %s", s->group->name);
	else
		f->remedy = strf(
			"%stake the %ss out of that domain: %s", live ? "shut it down and " : "",
			domain_hostdev_noun(domain_use_hostdev(s->use, first(s, live, true))),
			edit);
}

static void add_vgpu(const Subject *s, const VgpuUse *vgpu, FenceReport *report)
{
	_cleanup_free_ char *text = vgpu_text(vgpu);
	FenceFinding *f = finding_new(s, vgpu->live, xstrdup(BDF_TEXT(&vgpu->board)), report);

	f->what = strf("domain %s (%s) %s %s, a board of %s", s->use->name, s->use->uuid,
		       vgpu->live ? "runs with" : "is defined with", text, s->group->name);
	f->remedy = vgpu_remedy(vgpu);
}

/* One is enough: it names the domain, and the remedy is the same for all of them. */
static void report_vgpu(const Subject *s, const PciSnapshot *snapshot, FenceReport *report)
{
	VgpuUse vgpu;

	for (size_t i = 0; i < s->n; i++)
		if (vgpu_of_domain(s->use, snapshot, &s->functions[i]->bdf, &vgpu)) {
			add_vgpu(s, &vgpu, report);
			return;
		}
}

/* What runs is worse than what is defined, so of one domain the guest is reported first. */
static void report_use(const Subject *s, bool foreign_use, FenceReport *report)
{
	size_t live = count(s, true), config = count(s, false);

	if (live > 0 && live < s->n)
		add(s, true, true, report);
	else if (config > 0 && config < s->n)
		add(s, true, false, report);
	/* What a machine of Proxmox VE is to have, its definition says, and nothing else does. */
	else if (!s->ours && !foreign_use && live + config > 0 && s->use->vmid == 0)
		add(s, false, live > 0, report);
}

static bool is_ours(const Subject *s, const Assignment *record, const GroupSet *groups)
{
	if (record)
		return str_equal(record->domain_uuid, s->use->uuid);
	return mark_counts(groups, s->use, s->group->name);
}

static void report_group(const GroupSet *groups, const Group *group, const DomainUses *uses,
			 const Assignments *assignments, FenceReport *report)
{
	Subject s = { .group = group };
	_cleanup_free_ const PciFunction **functions = group_functions(group, &s.n);
	const Assignment *record;
	bool vgpus;

	s.functions = functions;
	record = group_record(group, functions, s.n, groups, assignments);
	if (group->provenance == PROVENANCE_NONE && !record)
		return;
	vgpus = SOME_OF(s.functions, s.n, vgpu_possible(groups->snapshot, &it->bdf));
	for (size_t i = 0; i < uses->n_items; i++) {
		s.use = &uses->items[i];
		s.ours = is_ours(&s, record, groups);
		report_use(&s, group->foreign_use && !record, report);
		if (vgpus)
			report_vgpu(&s, groups->snapshot, report);
	}
}

FenceReport *fence_report(const GroupSet *groups, const DomainUses *uses,
			  const Assignments *assignments)
{
	FenceReport *report = xcalloc(1, sizeof(FenceReport));

	for (size_t i = 0; i < groups->n_items; i++)
		report_group(groups, &groups->items[i], uses, assignments, report);
	return report;
}

bool fence_report_has(const FenceReport *report, const FenceFinding *finding)
{
	return report && SOME(report->items, report->n_items, str_equal(it->what, finding->what));
}

#include "report.inc"
