/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which VFs a prepare makes, and which it gives the rules that keep their guest to itself. */
#include "core/domain/ref.h"
#include "core/facts/kept.h"
#include "core/plan/planner.h"
#include "util/grow.h"
#include "util/xalloc.h"

static bool is_of(const PciFunction *vf, const PciFunction *nic)
{
	return bdf_equal(&vf->physical, &nic->bdf);
}

/* As many as the highest number that any group is declared with asks for. */
static unsigned count_declared(const GroupSet *groups, const PciFunction *nic)
{
	unsigned n = 0;

	for (size_t i = 0; i < groups->n_items; i++)
		for (size_t k = 0; k < groups->items[i].n_companions; k++) {
			const Member *member = &groups->items[i].companions[k].member;
			unsigned number = pci_function_vfs_for(nic, &member->bdf);

			if (member->kind == MEMBER_VF && number > n)
				n = number;
		}
	return n;
}

static int refuse(const Planner *p, const PciFunction *nic, char *cause, char *remedy)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
			      .reason = strf("VFs of %s cannot be made now", BDF_TEXT(&nic->bdf)),
			      .cause = cause, .remedy = remedy);
}

/* The number changes by 0 only, so that all of them end: nobody may have one. */
static int check_nic(const Planner *p, const PciFunction *nic, unsigned *ret_now)
{
	const PciSnapshot *snapshot = p->facts->snapshot;

	if (!nic->driver || pci_function_on_vfio(nic))
		return refuse(p, nic,
			      strf("it is on %s, and its own driver makes them",
				   nic->driver ? nic->driver : "no driver"),
			      strf("give it back to its driver: echo %s > "
				   "/sys/bus/pci/drivers_probe",
				   BDF_TEXT(&nic->bdf)));
	EACH_OF (const PciFunction, vf, snapshot->virtuals, snapshot->n_virtuals) {
		const Group *group = group_set_find_gpu(p->facts->groups, &vf->bdf);
		const DomainUse *use;
		size_t position = 0;

		if (!is_of(vf, nic))
			continue;
		++*ret_now;
		use = domain_uses_holding(p->facts->uses, &vf->bdf, &position);
		/* It would lose its rules, which of an assigned one gpupass sets again. */
		if (use && !assignments_find_function(p->facts->assignments, &vf->bdf))
			return refuse(p, nic,
				      strf("their number can change only while none is in use, and "
					   "domain %s has %s",
					   use->name, BDF_TEXT(&vf->bdf)),
				      strf("take it out of that domain: virsh edit %s",
					   domain_ref_word(use->name, use->uuid)));
		if (vf->driver)
			return refuse(p, nic,
				      strf("their number can change only while none is in use, and "
					   "%s is on %s%s%s",
					   BDF_TEXT(&vf->bdf), vf->driver,
					   group ? ", in group " : "", group ? group->name : ""),
				      group ? strf("release it and unbind it (gpupass unbind %s), "
						   "then: gpupass prepare %s",
						   group->name, p->facts->group->name)
					    : xstrdup("unbind that driver from it"));
	}
	return *ret_now > 0 ? plan_check_all_read(p) : 0;
}

/* Of another NIC its domain would be in another network. */
static int check_place(const Planner *p, const Bdf *vf, const PciFunction *nic)
{
	const AssignedFunction *then = p->record ? assignment_function(p->record, vf) : NULL;
	_cleanup_free_ char *change = then ? assigned_vf_change(then, nic, NULL) : NULL;

	return change ? refuse(p, nic, strf("as a VF of it %s %s", BDF_TEXT(vf), change),
			       strf("put the NIC back where it was, or: gpupass release %s",
				    p->facts->group->name))
		      : 0;
}

static int add_nic(Planner *p, const PciFunction *nic)
{
	PlanNic change = { .bdf = nic->bdf,
			   .number = count_declared(p->facts->groups, nic),
			   .autoprobe = nic->vf_autoprobe };
	int r;

	if (SOME(p->plan->nics, p->plan->n_nics, bdf_equal(&it->bdf, &nic->bdf)))
		return 0;
	r = check_nic(p, nic, &change.before);
	if (r != 0)
		return r;
	if (change.before >= change.number)
		return refuse(p, nic,
			      strf("it has %u, and not where sriov_offset and sriov_stride say",
				   change.before),
			      xstrdup("declare the group anew, by the address that lspci shows"));
	*GROW(p->plan->nics, p->plan->n_nics) = change;
	return 0;
}

/* A boot binds these, and so does who makes them later: no driver took them yet. */
static bool is_to_be_bound(const Planner *p, const Companion *vf)
{
	const Bdf *bdf = &vf->member.bdf;

	return (!vf->function || !vf->function->driver) &&
	       (p->facts->group->kept != KEPT_NOT ||
		assignments_find_function(p->facts->assignments, bdf) ||
		kept_find_function(p->facts->assignments, bdf));
}

int plan_vfs(Planner *p)
{
	const Group *group = p->facts->group;
	const Inspection *in = p->facts->inspection;
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->n_companions; i++) {
		const Bdf *bdf = &group->companions[i].member.bdf;
		bool bind = is_to_be_bound(p, &group->companions[i]);
		Bdf nic;

		if (group->companions[i].member.kind != MEMBER_VF ||
		    (!bind && nic_use_vf_is_ruled(nic_use_find(in->nics, in->n_nics, bdf))))
			continue;
		*GROW(p->plan->vfs, p->plan->n_vfs) = *bdf;
		if (bind)
			*GROW(p->plan->bound_vfs, p->plan->n_bound_vfs) = *bdf;
		if (group->companions[i].need != COMPANION_TO_MAKE ||
		    !pci_snapshot_physical(p->facts->snapshot, bdf, &nic))
			continue;
		r = check_place(p, bdf, pci_snapshot_find(p->facts->snapshot, &nic));
		if (r == 0)
			r = add_nic(p, pci_snapshot_find(p->facts->snapshot, &nic));
	}
	return r;
}
