/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/companion.h"

#include "util/grow.h"

static void add(Group *group, const Member *member, const PciSnapshot *snapshot)
{
	*GROW(group->companions, group->n_companions) = (Companion){
		.member = *member,
		.function = pci_snapshot_find(snapshot, &member->bdf),
	};
}

void companions_declare(Group *group, const Declaration *declaration, const PciSnapshot *snapshot)
{
	for (size_t i = 0; i < declaration->n_companions; i++)
		add(group, &declaration->companions[i], snapshot);
	group->whole_nic = declaration->whole_nic;
	group->erase = declaration->erase;
	group->foreign_use = declaration->foreign_use;
	group->vlan = declaration->vlan;
}

void companions_record(Group *group, const Assignment *record, const GpuSet *set)
{
	for (size_t i = 0; i < record->n_functions; i++) {
		const Bdf *bdf = &record->functions[i].bdf;
		const PciFunction *function = pci_snapshot_find(set->snapshot, bdf);
		Member member = { .bdf = *bdf };

		if (!function || gpu_set_find(set, bdf) || group_companion(group, bdf) ||
		    !member_kind_of(function, &member.kind))
			continue;
		add(group, &member, set->snapshot);
		/* Which VLAN a VF belongs in only a declaration says. */
		if (group->fault ||
		    (group->provenance != PROVENANCE_DECLARED && member.kind != MEMBER_VF))
			continue;
		group->companion_fault = true;
		group->fault = strf("%s was assigned to %s with it, and is not declared any more: "
				    "release the group",
				    BDF_TEXT(bdf), record->domain_name);
	}
	group->whole_nic |= group->provenance != PROVENANCE_DECLARED;
}

static bool is_declared(const Declarations *declarations, const Bdf *bdf)
{
	for (size_t i = 0; i < declarations->n_items; i++)
		if (SOME(declarations->items[i].companions, declarations->items[i].n_companions,
			 bdf_equal(&it->bdf, bdf)))
			return true;
	return false;
}

bool companions_choose_vf(const PciFunction *nic, const Declarations *declarations,
			  const Assignments *assignments, char *const *more, Bdf *ret)
{
	Member vf = { .kind = MEMBER_VF };

	for (unsigned i = 0; pci_function_vf(nic, i, &vf.bdf); i++) {
		if (is_declared(declarations, &vf.bdf) ||
		    assignments_find_function(assignments, &vf.bdf) ||
		    strv_contains(more, MEMBER_TEXT(&vf)))
			continue;
		*ret = vf.bdf;
		return true;
	}
	return false;
}

/* A NIC that could have it, if it had VFs enough. */
static bool can_be_made(const Companion *companion, const PciSnapshot *snapshot)
{
	const PciFunction *nic = NULL;
	Bdf physical;

	if (companion->member.kind == MEMBER_VF && !companion->function &&
	    pci_snapshot_physical(snapshot, &companion->member.bdf, &physical))
		nic = pci_snapshot_find(snapshot, &physical);
	return nic && member_kind_is(MEMBER_NIC, nic);
}

static char *kind_fault(const Companion *companion, const PciSnapshot *snapshot)
{
	const char *bdf = BDF_TEXT(&companion->member.bdf);
	MemberKind kind;

	if (can_be_made(companion, snapshot))
		return NULL;
	if (!companion->function)
		return strf("there is nothing at %s, where its %s should be", bdf,
			    member_kind_noun(companion->member.kind));
	if (member_kind_is(companion->member.kind, companion->function))
		return NULL;
	if (member_kind_of(companion->function, &kind))
		return strf("%s is no %s: declare it as %s:%s", bdf,
			    member_kind_noun(companion->member.kind), member_kind_to_string(kind),
			    bdf);
	return strf("%s is no %s: its PCI class is %06x", bdf,
		    member_kind_noun(companion->member.kind), companion->function->class_code);
}

/* NULL: the group has no VF of this NIC. */
static const Bdf *vf_of(const Group *group, const Bdf *nic, const PciSnapshot *snapshot)
{
	Bdf physical;

	for (size_t i = 0; i < group->n_companions; i++) {
		const Member *member = &group->companions[i].member;

		if (member->kind == MEMBER_VF &&
		    pci_snapshot_physical(snapshot, &member->bdf, &physical) &&
		    bdf_equal(&physical, nic))
			return &member->bdf;
	}
	return NULL;
}

/*
 * A declaration may say what a record says otherwise. And whoever has a NIC has its VFs: they leave
 * with its driver.
 */
static char *sharing_fault(const Group *group, const Companion *companion, const GroupSet *all)
{
	const Bdf *bdf = &companion->member.bdf;

	EACH (const Group, other, all->items, all->n_items) {
		const Companion *parent;
		const Bdf *child;
		Bdf physical;

		if (other != group && group_companion(other, bdf))
			return strf("%s is in group %s, too", BDF_TEXT(bdf), other->name);
		child = other != group && companion->member.kind == MEMBER_NIC
				? vf_of(other, bdf, all->snapshot)
				: NULL;
		if (child)
			return strf("%s has the VF %s, which is in group %s", BDF_TEXT(bdf),
				    BDF_TEXT(child), other->name);
		if (companion->member.kind != MEMBER_VF ||
		    !pci_snapshot_physical(all->snapshot, bdf, &physical))
			continue;
		parent = group_companion(other, &physical);
		if (parent)
			return strf("%s is a VF of %s, which is whole in group %s", BDF_TEXT(bdf),
				    BDF_TEXT(&physical), other->name);
	}
	return NULL;
}

/* NULL: whoever has the group is seen, and what that leaves on an NVMe erased. */
static const char *unseen_use(const Group *group, const Policy *policy)
{
	if (group->foreign_use)
		return "with ForeignUse=yes";
	return policy->domains == DOMAINS_LIBVIRT ? NULL : "without libvirt (Uri=none)";
}

static char *giving_fault(const Group *group, const Companion *companion, const Policy *policy)
{
	const char *bdf = BDF_TEXT(&companion->member.bdf), *unseen = unseen_use(group, policy);

	if (companion->member.kind == MEMBER_NIC && !group->whole_nic)
		return strf("%s is a whole NIC, which a tenant can re-flash: give a VF of it, or "
			    "allow it by WholeNic=yes (declare --whole-nic)",
			    bdf);
	if (companion->member.kind == MEMBER_NVME && unseen)
		return strf("%s is an NVMe, which cannot be in a group %s: who had it is not seen, "
			    "and what that left on it not erased",
			    bdf, unseen);
	return NULL;
}

char *companions_fault(const Group *group, const GroupSet *all, const Policy *policy)
{
	EACH (const Companion, companion, group->companions, group->n_companions) {
		char *fault = kind_fault(companion, all->snapshot);

		if (!fault)
			fault = sharing_fault(group, companion, all);
		if (!fault)
			fault = giving_fault(group, companion, policy);
		if (fault)
			return fault;
	}
	return NULL;
}

/* ---- what must be made or erased ---- */

/*
 * Whatever is on an NVMe that gpupass has erased came of its tenants. Of any other one an operator
 * must have said that it may be erased.
 */
static CompanionNeed need_of(const Group *group, const Companion *companion, const Tenants *tenants)
{
	const TenantMark *mark;

	if (companion->member.kind == MEMBER_VF && !companion->function)
		return COMPANION_TO_MAKE;
	if (companion->unruled)
		return COMPANION_TO_RULE;
	if (companion->member.kind != MEMBER_NVME || !companion->function || !tenants)
		return COMPANION_READY;
	mark = tenants_mark(tenants, companion->function);
	if (mark && mark->n_erases > 0 && mark->state == TENANT_CLEAN)
		return companion->unseen ? COMPANION_TO_COMPARE : COMPANION_READY;
	if (mark && mark->n_erases > 0)
		return COMPANION_TO_ERASE;
	return group->erase ? COMPANION_TO_ERASE : COMPANION_READY;
}

void companions_settle(Group *group, const Tenants *tenants)
{
	for (size_t i = 0; i < group->n_companions; i++)
		group->companions[i].need = need_of(group, &group->companions[i], tenants);
}

char *companions_lack(const Group *group)
{
	static const char *const words[] = {
		[COMPANION_TO_MAKE] = "is yet to be made",
		[COMPANION_TO_RULE] = "is yet to be kept to its own address",
		[COMPANION_TO_ERASE] = "is yet to be erased",
		[COMPANION_TO_COMPARE] = "is yet to be compared with what was erased",
	};
	_cleanup_strv_ char **lines = NULL;

	EACH (const Companion, companion, group->companions, group->n_companions)
		if (companion->need != COMPANION_READY)
			strv_appendf(&lines, "%s %s %s", member_kind_noun(companion->member.kind),
				     BDF_TEXT(&companion->member.bdf), words[companion->need]);
	return lines ? strv_join(lines, "; ") : NULL;
}

char *companions_why_not(const Group *group, const Tenants *tenants)
{
	EACH (const Companion, companion, group->companions, group->n_companions) {
		const TenantMark *mark;

		if (companion->member.kind != MEMBER_NVME || !companion->function || !tenants ||
		    group->erase)
			continue;
		mark = tenants_mark(tenants, companion->function);
		if (!mark || (mark->n_erases == 0 && !mark->domain_uuid))
			return strf("NVMe %s was not erased by gpupass, and nobody said that it "
				    "may be (declare --erase)",
				    BDF_TEXT(&companion->member.bdf));
	}
	return NULL;
}
