/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/observe.h"

#include "core/domain/ref.h"
#include "core/domain/vgpu.h"
#include "core/group/companion.h"
#include "core/group/keep.h"
#include "core/group/record.h"
#include "core/group/word.h"
#include "core/pci/driver-name.h"
#include "util/xalloc.h"

/* One group, and all that is known about who has it. A view owns only its lists of functions. */
typedef struct View {
	Group *group;
	const GroupSet *groups;
	const DomainUses *uses; /* NULL: libvirt does not answer */
	const Assignments *assignments;
	const Tenants *tenants; /* NULL: not known */
	const Policy *policy;
	const PciFunction **functions;
	size_t n_functions;
	const PciFunction **leads; /* group_leads() */
	size_t n_leads;
	const Assignment *record;	/* that names the group or one of its functions */
	const Assignment *other_record; /* a second one */
	const DomainUse *domain;	/* the first that uses one of its functions */
	const DomainUse *other_domain;	/* a second one */
	const RecordFault *fence;	/* an assignment that cannot be read fences it off */
	bool fenced;			/* that assignment surely is about it */
} View;

static GroupState settle(View *v, GroupState state, const char *reason, ...) _printf_(3, 4);

/*
 * Sets the reason, which a state that needs no explanation does not have. Nothing else writes it.
 */
static GroupState settle(View *v, GroupState state, const char *reason, ...)
{
	va_list ap;
	char *text;

	va_start(ap, reason);
	text = vstrf(reason, ap);
	va_end(ap);
	free(v->group->reason);
	v->group->reason = text;
	return state;
}

static void set_domain(Group *group, const char *uuid, const char *name)
{
	char *u = xstrdup(uuid), *n = xstrdup(name);

	free(group->domain_uuid);
	free(group->domain_name);
	group->domain_uuid = u;
	group->domain_name = n;
}

static const char *driver_name(const PciFunction *function)
{
	return function->driver ? function->driver : "no driver";
}

static void find_records(View *v)
{
	v->record = group_record(v->group, v->functions, v->n_functions, v->groups, v->assignments);
	for (size_t i = 0; i < v->n_functions; i++) {
		const Assignment *record =
			assignments_find_function(v->assignments, &v->functions[i]->bdf);

		if (record && record != v->record)
			v->other_record = record;
	}
}

static void find_fence(View *v)
{
	_cleanup_free_ Bdf *addresses = NULL;

	if (v->assignments->faults.n_items == 0)
		return;
	addresses = group_addresses(v->group, NULL);
	v->fence = record_faults_find(&v->assignments->faults, addresses, v->n_functions,
				      v->group->name, NULL);
	v->fenced = v->fence && record_fault_is_about(v->fence, addresses, v->n_functions,
						      v->group->name, NULL);
}

static void find_domains(View *v)
{
	for (size_t i = 0; v->uses && i < v->n_functions; i++) {
		const DomainUse *use;
		size_t position = 0;

		while ((use = domain_uses_holding(v->uses, &v->functions[i]->bdf, &position))) {
			if (!v->domain)
				v->domain = use;
			else if (use != v->domain && !v->other_domain)
				v->other_domain = use;
		}
	}
}

static const PciFunction *first_held(const View *v, const DomainUse *domain)
{
	return FIND_OF(v->functions, v->n_functions, domain_use_hostdev(domain, &it->bdf));
}

/* Some function of the group is not in the domain; *ret is the first. */
static bool lacks_function(const View *v, const DomainUse *domain, const PciFunction **ret)
{
	for (size_t i = 0; i < v->n_functions; i++)
		if (!domain_use_hostdev(domain, &v->functions[i]->bdf)) {
			*ret = v->functions[i];
			return true;
		}
	return false;
}

/* The domain's metadata has our mark. The record may be lost, or not yet written. */
static bool marked_as_ours(const View *v, const DomainUse *domain)
{
	return domain_use_names(domain, v->group->name);
}

static GroupState settle_two_domains(View *v)
{
	bool ours = v->record || marked_as_ours(v, v->domain) || marked_as_ours(v, v->other_domain);
	GroupState state = ours ? GROUP_DEGRADED : GROUP_FOREIGN;
	/* Both exist: that is how the two domains were found. */
	const PciFunction *a = first_held(v, v->domain), *b = first_held(v, v->other_domain);

	for (size_t i = 0; i < v->n_functions; i++)
		if (domain_use_hostdev(v->domain, &v->functions[i]->bdf) &&
		    domain_use_hostdev(v->other_domain, &v->functions[i]->bdf))
			return settle(v, state, "%s is in two domains, %s and %s",
				      BDF_TEXT(&v->functions[i]->bdf), v->domain->name,
				      v->other_domain->name);
	return settle(v, state, "split: %s is in domain %s, %s in domain %s", BDF_TEXT(&a->bdf),
		      v->domain->name, BDF_TEXT(&b->bdf), v->other_domain->name);
}

/* The board at a recorded address is not the one that was assigned, or is not there. Says so. */
static bool is_changed_board(View *v)
{
	EACH (const AssignedFunction, then, v->record->functions, v->record->n_functions) {
		_cleanup_free_ char *change = NULL;
		const PciFunction *now =
			FIND_OF(v->functions, v->n_functions, bdf_equal(&it->bdf, &then->bdf));

		if (now)
			change = assigned_function_change(then, now, NULL);
		if (now && !change)
			continue;
		if (!now)
			settle(v, GROUP_DEGRADED,
			       "the record of %s names %s, which is not in this group",
			       v->record->domain_name, BDF_TEXT(&then->bdf));
		else
			settle(v, GROUP_DEGRADED,
			       "%s is another board than was assigned to %s: it %s",
			       BDF_TEXT(&then->bdf), v->record->domain_name, change);
		return true;
	}
	return false;
}

/* libvirt binds a managed hostdev itself when the domain starts. */
static bool needs_vfio(const DomainUse *domain, const PciFunction *function)
{
	const DomainHostdev *hostdev = domain ? domain_use_hostdev(domain, &function->bdf) : NULL;

	return !hostdev || !hostdev->managed || (domain->active && hostdev->live);
}

/* One domain of ours has the whole group. The drivers decide between assigned and drifted. */
static GroupState settle_assigned(View *v, const char *remark)
{
	_cleanup_free_ char *complaint = NULL;

	v->group->word.counts = group_word_counts(v->group, v->record);
	EACH_OF (const PciFunction, function, v->functions, v->n_functions)
		if (!pci_function_on_vfio(function) && needs_vfio(v->domain, function))
			return settle(v, GROUP_DEGRADED, "assigned to %s, but %s is on %s, not %s",
				      v->group->domain_name, BDF_TEXT(&function->bdf),
				      driver_name(function), VFIO_PCI);
	complaint = group_word_complaint(
		v->group, domain_ref_word(v->group->domain_name, v->group->domain_uuid));
	if (complaint)
		return settle(v, GROUP_DEGRADED, "%s", complaint);
	return remark ? settle(v, GROUP_ASSIGNED, "%s", remark) : GROUP_ASSIGNED;
}

/* There is a record, and no domain uses any function of the group. */
static GroupState settle_unused_record(View *v)
{
	const DomainUse *domain = domain_uses_find(v->uses, v->record->domain_uuid);

	if (domain && domain->unread)
		return settle_assigned(v, "by the record; the domain's XML is not known");
	if (!domain)
		return settle(v, GROUP_DEGRADED, "assigned to %s (%s), %s; release the group",
			      v->record->domain_name, v->record->domain_uuid,
			      v->policy->domains == DOMAINS_LIBVIRT
				      ? "which libvirt no longer has"
				      : "a domain of libvirt, without which gpupassd runs "
					"(Uri=none)");
	return settle(v, GROUP_DEGRADED, "assigned to %s by record, but that domain's XML lacks %s",
		      domain->name, BDF_TEXT(&v->functions[0]->bdf));
}

/* The domains are not known. */
static GroupState settle_assigned_unseen(View *v)
{
	_cleanup_free_ char *remark =
		strf("by the record; %s", domain_source_silence(v->policy->domains));

	return settle_assigned(v, remark);
}

static GroupState settle_recorded(View *v)
{
	const PciFunction *lacking;

	set_domain(v->group, v->record->domain_uuid, v->record->domain_name);
	if (v->other_record)
		return settle(v, GROUP_DEGRADED, "two records name it, of %s and %s",
			      v->record->domain_name, v->other_record->domain_name);
	if (is_changed_board(v))
		return GROUP_DEGRADED;
	if (!v->uses)
		return settle_assigned_unseen(v);
	if (v->other_domain)
		return settle_two_domains(v);
	if (!v->domain)
		return settle_unused_record(v);
	if (!str_equal(v->domain->uuid, v->record->domain_uuid))
		return settle(v, GROUP_DEGRADED, "assigned to %s by record, but domain %s has %s",
			      v->record->domain_name, v->domain->name,
			      BDF_TEXT(&first_held(v, v->domain)->bdf));
	/* A domain may have been renamed since. */
	set_domain(v->group, v->domain->uuid, v->domain->name);
	if (lacks_function(v, v->domain, &lacking))
		return settle(v, GROUP_DEGRADED, "assigned to %s, but that domain's XML lacks %s",
			      v->domain->name, BDF_TEXT(&lacking->bdf));
	return settle_assigned(v, NULL);
}

static const PciFunction *first_not_held(const View *v, const DomainUse *domain)
{
	return FIND_OF(v->leads, v->n_leads, !domain_use_hostdev(domain, &it->bdf));
}

/* The first member that the domain has, or has not: now, or with its next start. */
static const PciFunction *member_held(const View *v, bool live, bool held)
{
	for (size_t i = 0; i < v->n_leads; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(v->domain, &v->leads[i]->bdf);

		if ((hostdev && (live ? hostdev->live : hostdev->config)) == held)
			return v->leads[i];
	}
	return NULL;
}

/*
 * A virtual machine of Proxmox VE has the whole group. That is as it should be: there is nothing
 * but its definition that could say so. The drivers tell the rest. With pending changes it may have
 * one part now, and another one next time.
 */
static GroupState settle_machine(View *v)
{
	static const bool live[] = { true, false };
	size_t bound;

	for (size_t i = 0; i < ELEMENTS(live); i++) {
		const PciFunction *with = member_held(v, live[i], true);
		const PciFunction *without = member_held(v, live[i], false);

		if (with && without)
			return settle(v, GROUP_FOREIGN, "split: domain %s %s %s and not %s",
				      v->domain->name, live[i] ? "runs with" : "is defined with",
				      BDF_TEXT(&with->bdf), BDF_TEXT(&without->bdf));
	}
	bound = COUNT(v->leads, v->n_leads, pci_function_on_vfio(*it));
	if (bound > 0 && bound < v->n_leads)
		return settle(v, GROUP_DEGRADED,
			      "virtual machine %s has it, but only %zu of %zu %s are on %s",
			      v->domain->name, bound, v->n_leads,
			      v->group->n_companions > 0 ? "members" : "GPUs", VFIO_PCI);
	return settle(v, bound > 0 ? GROUP_BOUND : GROUP_FREE, "virtual machine %s %s it",
		      v->domain->name,
		      member_held(v, true, true) ? "runs with" : "is defined with");
}

/* No record; one or two domains use functions of the group. */
static GroupState settle_used(View *v)
{
	const PciFunction *lacking;
	const PciFunction *outside;

	set_domain(v->group, v->domain->uuid, v->domain->name);
	if (v->other_domain)
		return settle_two_domains(v);
	if (marked_as_ours(v, v->domain)) {
		if (lacks_function(v, v->domain, &lacking))
			return settle(v, GROUP_DEGRADED,
				      "domain %s is marked as having it, but its XML lacks %s",
				      v->domain->name, BDF_TEXT(&lacking->bdf));
		return settle_assigned(v, "by the domain's own mark; the record is missing");
	}
	outside = first_not_held(v, v->domain);
	if (outside)
		return settle(v, GROUP_FOREIGN,
			      "split: domain %s has %s and not %s, without gpupass",
			      v->domain->name, BDF_TEXT(&first_held(v, v->domain)->bdf),
			      BDF_TEXT(&outside->bdf));
	return v->domain->vmid > 0 ? settle_machine(v)
				   : settle(v, GROUP_FOREIGN, "domain %s has it, without gpupass",
					    v->domain->name);
}

/* A board with a vGPU is the nvidia driver's as long as that is there. Says so. */
static bool has_vgpu(View *v)
{
	for (size_t i = 0; v->uses && i < v->n_functions; i++) {
		const Bdf *bdf = &v->functions[i]->bdf;
		_cleanup_free_ char *text = NULL;
		size_t position = 0;
		VgpuUse vgpu;

		if (!vgpu_next_domain(v->uses, v->groups->snapshot, bdf, &position, &vgpu) &&
		    !vgpu_unnamed_mdev(v->uses, v->groups->snapshot, bdf, &vgpu))
			continue;
		text = vgpu_text(&vgpu);
		if (vgpu.domain)
			settle(v, GROUP_FOREIGN, "domain %s has %s", vgpu.domain->name, text);
		else
			settle(v, GROUP_FOREIGN, "%s is there, in no domain", text);
		return true;
	}
	return false;
}

static GroupState settle_unread(View *v, GroupState state)
{
	_cleanup_free_ char *what = record_fault_what(v->fence);

	return settle(v, state, "it may be assigned: %s", what);
}

/*
 * Nobody has it. The leading functions decide. A GPU's audio function may stay on the host's
 * driver, because a plan moves it. But members on different drivers are neither free nor bound.
 */
static GroupState settle_by_drivers(View *v)
{
	const PciFunction *bound = NULL, *unbound = NULL;
	_cleanup_free_ char *lack = NULL, *why_not = NULL;
	const DomainUse *unread;
	size_t position = 0;

	companions_settle(v->group, v->tenants);
	lack = companions_lack(v->group);
	for (size_t i = 0; i < v->n_leads; i++) {
		const Companion *companion = group_companion(v->group, &v->leads[i]->bdf);

		/* It may be where an erase that was interrupted had it. */
		if (companion && companion->need == COMPANION_TO_ERASE)
			continue;
		if (pci_function_on_vfio(v->leads[i]))
			bound = v->leads[i];
		else
			unbound = v->leads[i];
	}
	if (bound && unbound)
		return settle(v, GROUP_DEGRADED, "%s is on %s, but %s on %s%s%s",
			      BDF_TEXT(&bound->bdf), driver_name(bound), BDF_TEXT(&unbound->bdf),
			      driver_name(unbound), lack ? "; " : "", str_or_empty(lack));
	if (v->group->provenance == PROVENANCE_INFERRED && !v->policy->accept_inferred)
		return settle(v, GROUP_INFERRED,
			      "the pairing is likely, not certain; declare it: "
			      "gpupass declare %s %s %s",
			      v->group->name, BDF_TEXT(&v->group->gpus[0]->lead->bdf),
			      BDF_TEXT(&v->group->gpus[1]->lead->bdf));
	if (!v->uses)
		return settle(v, bound ? GROUP_BOUND : GROUP_FREE,
			      "%s, so whether a domain has it is not known",
			      domain_source_silence(v->policy->domains));
	if (v->fence)
		return settle_unread(v, bound ? GROUP_BOUND : GROUP_FREE);
	unread = domain_uses_unread(v->uses, &position);
	if (unread)
		return settle(v, bound ? GROUP_BOUND : GROUP_FREE,
			      "whether domain %s (%s) has a part of it cannot be told: its %s is "
			      "not known",
			      unread->name, unread->uuid, unread->vmid > 0 ? "file" : "XML");
	if (lack)
		return settle(v, GROUP_UNREADY, "%s", lack);
	why_not = companions_why_not(v->group, v->tenants);
	if (why_not)
		return settle(v, bound ? GROUP_BOUND : GROUP_FREE, "%s", why_not);
	v->group->assignable = true;
	return bound ? GROUP_BOUND : GROUP_FREE;
}

/*
 * Faults and candidates do not depend on who has the GPUs. The reason names the user all the same.
 */
static GroupState settle_whatever_uses(View *v, GroupState state, const char *why)
{
	const char *uuid = v->record ? v->record->domain_uuid : v->domain ? v->domain->uuid : NULL;
	const char *name = v->record ? v->record->domain_name : v->domain ? v->domain->name : NULL;

	/* Candidates are not one unit: one of them in a domain says nothing about the others. */
	if (uuid && state != GROUP_UNKNOWN)
		set_domain(v->group, uuid, name);
	if (v->domain)
		return settle(v, state, "%s%s%s is in domain %s", str_or_empty(why),
			      why ? "; " : "", BDF_TEXT(&first_held(v, v->domain)->bdf),
			      v->domain->name);
	return why ? settle(v, state, "%s", why) : state;
}

static GroupState observe_state(View *v)
{
	const Group *group = v->group;
	_cleanup_free_ char *lack = NULL;

	find_fence(v);
	find_records(v);
	find_domains(v);
	if (group->fault)
		return settle_whatever_uses(v, GROUP_DEGRADED, group->fault);
	if (group->provenance == PROVENANCE_NONE)
		return settle_whatever_uses(v, GROUP_UNKNOWN, NULL);
	/* A boot takes the VFs. That the rules of one are not known yet closes the fence only. */
	if (v->record || v->domain)
		companions_settle(v->group, NULL);
	lack = companions_lack(group);
	if (group_lacks_vf(group))
		return settle_whatever_uses(v, GROUP_DEGRADED, lack);
	if (v->record)
		return settle_recorded(v);
	if (v->domain)
		return settle_used(v);
	if (v->fenced)
		return settle_unread(v, GROUP_DEGRADED);
	return has_vgpu(v) ? GROUP_FOREIGN : settle_by_drivers(v);
}

void groups_observe(GroupSet *groups, const DomainUses *uses, const Assignments *assignments,
		    const Tenants *tenants, const Policy *policy)
{
	EACH (Group, group, groups->items, groups->n_items) {
		_cleanup_free_ const PciFunction **functions = NULL, **leads = NULL;
		View view = {
			.group = group,
			.groups = groups,
			.uses = uses,
			.assignments = assignments,
			.tenants = tenants,
			.policy = policy,
		};

		functions = group_functions(group, &view.n_functions);
		view.functions = functions;
		leads = group_leads(group, &view.n_leads);
		view.leads = leads;
		group->assignable = false;
		group->word.counts = false;
		group->kept = group_kept(group, functions, view.n_functions, assignments, policy);
		free(group->domain_uuid);
		free(group->domain_name);
		free(group->reason);
		group->domain_uuid = group->domain_name = group->reason = NULL;
		for (size_t k = 0; k < group->n_companions; k++)
			group->companions[k].need = COMPANION_READY;
		group->state = observe_state(&view);
	}
}
