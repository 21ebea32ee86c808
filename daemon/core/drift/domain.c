/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drift of domains: the one that the record names, and others that have functions of the group. */
#include "core/domain/ref.h"
#include "core/domain/vgpu.h"
#include "core/domain/xml.h"
#include "core/drift/finding.h"
#include "core/mirror/mirror.h"
#include "util/xalloc.h"

static void drift_check_gone(DriftSubject *s)
{
	const DomainUse *other = domain_uses_find_name(s->facts->uses, s->record->domain_name);

	if (other)
		drift_add(s, DRIFT_OTHER_DOMAIN, DRIFT_REPAIR_NONE,
			  strf("it is assigned to %s (%s), which libvirt no longer has; another "
			       "domain has that name now (%s), and does not get it",
			       s->record->domain_name, s->record->domain_uuid, other->uuid),
			  strf("gpupass release %s", s->name));
	else
		drift_add(
			s, DRIFT_NO_DOMAIN, DRIFT_REPAIR_NONE,
			strf("it is assigned to %s (%s), which libvirt no longer has; no other domain "
			     "gets it",
			     s->record->domain_name, s->record->domain_uuid),
			strf("define %s again, or: gpupass release %s",
			     domain_ref_word(s->record->domain_name, s->record->domain_uuid),
			     s->name));
}

/* Also of the group's own domain: while it has the board, there can be no vGPU of it. */
static void drift_check_vgpus(DriftSubject *s)
{
	EACH_OF (const PciFunction, f, s->functions, s->n_functions) {
		size_t at = 0;
		VgpuUse vgpu;

		while (vgpu_next_domain(s->facts->uses, s->facts->snapshot, &f->bdf, &at, &vgpu)) {
			_cleanup_free_ char *text = vgpu_text(&vgpu);

			drift_about(s, &f->bdf);
			drift_add(s, DRIFT_TAKEN, DRIFT_REPAIR_NONE,
				  strf("domain %s (%s) has %s", vgpu.domain->name,
				       vgpu.domain->uuid, text),
				  vgpu_remedy(&vgpu));
		}
	}
}

void drift_check_others(DriftSubject *s)
{
	EACH_OF (const PciFunction, f, s->functions, s->n_functions) {
		const DomainUse *use;
		size_t at = 0;

		while ((use = domain_uses_holding(s->facts->uses, &f->bdf, &at))) {
			if (use == s->domain)
				continue;
			drift_about(s, &f->bdf);
			drift_add(s, DRIFT_TAKEN, DRIFT_REPAIR_NONE,
				  strf("domain %s (%s) has %s, too", use->name, use->uuid,
				       BDF_TEXT(&f->bdf)),
				  strf("take the %s out of that domain: virsh edit %s",
				       domain_hostdev_noun(domain_use_hostdev(use, &f->bdf)),
				       domain_ref_word(use->name, use->uuid)));
		}
	}
	drift_check_vgpus(s);
}

DriftHeld drift_count_held(const DriftSubject *s)
{
	DriftHeld held = { 0 };

	for (size_t i = 0; i < s->n_functions; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(s->domain, &s->functions[i]->bdf);

		held.live += hostdev && hostdev->live;
		held.config += hostdev && hostdev->config;
	}
	return held;
}

void drift_about_lacking(DriftSubject *s, bool live)
{
	EACH_OF (const PciFunction, f, s->functions, s->n_functions) {
		const DomainHostdev *hostdev = domain_use_hostdev(s->domain, &f->bdf);

		if (!hostdev || !(live ? hostdev->live : hostdev->config))
			drift_about(s, &f->bdf);
	}
}

static const char *until_next_start(DriftHeld held)
{
	return held.live > 0 ? "; its guest keeps what it started with" : "";
}

/*
 * What --fit=apply and --numa=apply wrote is noted in our mark. If the definition has lost the
 * mark, reconcile writes it again.
 */
static const char *applied_text(const DriftSubject *s, DriftHeld held)
{
	bool fit = s->record && s->record->apply_fit, numa = s->record && s->record->apply_numa;

	if (held.config > 0 && s->record &&
	    (domain_use_names(s->domain, s->record->group_name) ||
	     domain_use_names(s->domain, s->name)))
		return "";
	if (fit && numa)
		return "; --fit=apply and --numa=apply of its assignment are applied again";
	if (fit)
		return "; --fit=apply of its assignment is applied again";
	return numa ? "; --numa=apply of its assignment is applied again" : "";
}

static void drift_check_vfs(DriftSubject *s, DriftHeld held)
{
	for (size_t i = 0; !s->group->fault && i < s->group->n_companions; i++) {
		const Bdf *vf = &s->group->companions[i].member.bdf;
		_cleanup_free_ char *mac = domain_vf_mac(s->domain->uuid, vf, s->facts->host_key);

		if (!group_has_vf(s->group, vf) ||
		    domain_use_has_vf(s->domain, vf, mac, s->group->vlan))
			continue;
		drift_about(s, vf);
		drift_add(s, DRIFT_EDITED, DRIFT_REPAIR_DEFINE,
			  strf("the definition of %s does not have %s as an interface with MAC "
			       "%s and VLAN %u (0: none)%s",
			       s->domain->name, BDF_TEXT(vf), mac, s->group->vlan,
			       until_next_start(held)),
			  NULL);
	}
}

/* A tree that somebody edited, or that is not what was asked for. */
static void drift_check_topology(DriftSubject *s, DriftHeld held)
{
	Topology topology = s->record->topology;
	size_t n;
	_cleanup_free_ const PciFunction **members = NULL;
	_cleanup_free_ char *flaw = NULL;

	if (s->group->fault)
		return;
	members = group_leads(s->group, &n);
	flaw = mirror_flaw(s->domain->tree, topology == TOPOLOGY_MIRROR, members, n,
			   s->facts->n_nodes);
	if (flaw)
		drift_add(s, DRIFT_EDITED, DRIFT_REPAIR_DEFINE,
			  strf("the definition of %s does not have it with the topology %s: %s%s",
			       s->domain->name, topology_to_string(topology), flaw,
			       until_next_start(held)),
			  NULL);
}

/* What nobody assigned says nothing of drivers and overrides, and hides no fault of them. */
static void drift_check_peers(DriftSubject *s, DriftHeld held)
{
	bool wanted = s->record->peer_access != PEER_ACCESS_OFF, blocked = s->blocked;

	EACH_OF (Gpu, gpu, s->group->gpus, s->group->n_gpus) {
		const DomainHostdev *hostdev = domain_use_hostdev(s->domain, &gpu->lead->bdf);

		if (!hostdev || hostdev->clique == wanted)
			continue;
		drift_about(s, &gpu->lead->bdf);
		drift_add(s, DRIFT_EDITED, wanted ? DRIFT_REPAIR_DEFINE : DRIFT_REPAIR_NONE,
			  strf("the definition of %s %s %s the peer access that its assignment "
			       "%s%s",
			       s->domain->name, wanted ? "does not give" : "gives",
			       BDF_TEXT(&gpu->lead->bdf), wanted ? "has" : "lacks",
			       until_next_start(held)),
			  wanted ? NULL
				 : xstrdup("take that <qemu:override> out (virsh edit), or assign "
					   "with --peer-access"));
		s->blocked = blocked;
	}
}

static void drift_check_edited(DriftSubject *s, DriftHeld held)
{
	const char *mark = s->record ? s->record->group_name : s->name;
	Bdf functions[ELEMENTS(s->about)];
	size_t n = 0;

	for (size_t i = 0; i < s->n_functions && n < ELEMENTS(functions); i++)
		functions[n++] = s->functions[i]->bdf;
	if (drift_defined_by_us(s->domain, mark, functions, n))
		return;
	drift_add(s, DRIFT_EDITED, DRIFT_REPAIR_DEFINE,
		  strf("the definition of %s has it, but not as gpupass put it there: an alias or "
		       "the mark is missing, or a hostdev is managed by libvirt%s",
		       s->domain->name, applied_text(s, held)),
		  NULL);
}

/*
 * The group was declared under another name since. The mark in the definition is changed first,
 * then the record.
 */
static void drift_check_renamed_group(DriftSubject *s, DriftHeld held)
{
	bool live_only = held.config == 0 && held.live > 0;

	if (!s->group || str_equal(s->record->group_name, s->name))
		return;
	drift_add(s, DRIFT_RENAMED,
		  s->domain->persistent && !live_only ? DRIFT_REPAIR_DEFINE : DRIFT_REPAIR_RENAME,
		  strf("%s got it under the name %s; it is called %s now", s->domain->name,
		       s->record->group_name, s->name),
		  NULL);
}

static void drift_check_lacking(DriftSubject *s, DriftHeld held)
{
	drift_about_lacking(s, false);
	if (held.config == 0)
		drift_add(s, DRIFT_LACKS_ALL, DRIFT_REPAIR_DEFINE,
			  strf("the definition of %s has none of its functions%s", s->domain->name,
			       applied_text(s, held)),
			  NULL);
	else
		drift_add(s, DRIFT_LACKS_SOME, DRIFT_REPAIR_DEFINE,
			  strf("the definition of %s lacks %s, but has other functions%s",
			       s->domain->name, BDF_TEXT(&s->about[0]), applied_text(s, held)),
			  NULL);
}

/* A guest may run with the whole group and its definition have none of it: assign --live. */
static void drift_check_definition(DriftSubject *s, DriftHeld held)
{
	if (!s->domain->persistent && held.live > 0)
		drift_add(s, DRIFT_NO_DEFINITION, DRIFT_REPAIR_NONE,
			  strf("%s runs with it, but is no longer defined: the assignment will "
			       "outlive the domain",
			       s->domain->name),
			  strf("define it again (virsh dumpxml, virsh define), or shut it down "
			       "and: gpupass release %s",
			       s->name));
	else if (held.config == s->n_functions) {
		drift_check_edited(s, held);
		drift_check_vfs(s, held);
		drift_check_topology(s, held);
		drift_check_peers(s, held);
	} else if (held.config > 0 || held.live < s->n_functions)
		drift_check_lacking(s, held);
}

static void drift_check_guest(DriftSubject *s, DriftHeld held)
{
	if (held.live == 0 || held.live == s->n_functions)
		return;
	drift_about_lacking(s, true);
	drift_add(s, DRIFT_GUEST, DRIFT_REPAIR_NONE,
		  strf("running %s lacks %s, but has other functions", s->domain->name,
		       BDF_TEXT(&s->about[0])),
		  strf("shut %s down, then: gpupass reconcile %s",
		       domain_ref_word(s->domain->name, s->domain->uuid), s->name));
}

void drift_check_domain(DriftSubject *s)
{
	DriftHeld held;

	s->domain = domain_uses_find(s->facts->uses, s->record->domain_uuid);
	if (!s->domain)
		drift_check_gone(s);
	drift_check_others(s);
	if (!s->domain)
		return;
	held = drift_count_held(s);
	if (!str_equal(s->domain->name, s->record->domain_name))
		drift_add(
			s, DRIFT_RENAMED, DRIFT_REPAIR_RENAME,
			strf("domain %s is called %s now", s->record->domain_name, s->domain->name),
			NULL);
	if (s->domain->unread)
		return; /* which functions it has is not known */
	drift_check_renamed_group(s, held);
	if (s->domain->migrated)
		drift_add(s, DRIFT_MIGRATED, DRIFT_REPAIR_NONE,
			  strf("the guest of %s was migrated to another host, where it has other "
			       "boards",
			       s->domain->name),
			  strf("if it does not come back: gpupass release %s", s->name));
	drift_check_guest(s, held);
	drift_check_definition(s, held);
}
