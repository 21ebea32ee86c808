/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan that makes a group ready for a domain: its VFs are made, its NVMes erased. */
#include "core/plan/planner.h"

/* Or it was clean, and is not as it was then, nobody has the group, and a person asks. */
static bool is_to_be_erased(const Planner *p, const Companion *companion)
{
	const Inspection *in = p->facts->inspection;
	const Bdf *bdf = &companion->member.bdf;
	const TenantMark *mark = tenants_mark(p->facts->tenants, companion->function);
	_cleanup_strv_ char **lines = NULL;

	if (companion->need == COMPANION_TO_ERASE || companion->need == COMPANION_TO_COMPARE)
		return true;
	if (p->facts->group->assignable && p->facts->group->erase && !p->request->unasked)
		nvme_changes_since(mark && mark->n_erases > 0 ? &mark->erases[0] : NULL,
				   nvme_use_find(in->nvmes, in->n_nvmes, bdf),
				   nvme_state_find(in->nvme_states, in->n_nvme_states, bdf),
				   &lines);
	return lines;
}

/*
 * An NVMe is moved to its driver and back within its step. It goes where the GPUs are: an erase
 * that was interrupted may have left it elsewhere.
 */
static void plan_erases(Planner *p)
{
	const Group *group = p->facts->group;
	bool vfio = pci_function_on_vfio(group->gpus[0]->lead);

	EACH (PlanFunction, f, p->plan->functions, p->plan->n_functions) {
		const Companion *companion = group_companion(group, &f->bdf);

		f->erase = companion && is_to_be_erased(p, companion);
		if (companion && companion->need == COMPANION_TO_COMPARE)
			plan_warn(p->plan,
				  "%s is only compared with the receipt of its erase, if it is as "
				  "it was then",
				  BDF_TEXT(&f->bdf));
		if (!f->erase || f->from_vfio == vfio)
			continue;
		if (vfio)
			plan_set_target(f, VFIO_PCI, VFIO_PCI);
		else
			plan_set_target(f, NVME_DRIVER, NULL);
	}
}

/*
 * Erase= allowed what was on it when it was written, and not what a domain left since that had it
 * without gpupass. Of that a person has to ask.
 */
static int check_asked(const Planner *p, const PlanFunction *f)
{
	const PciFunction *function = pci_snapshot_find(p->facts->snapshot, &f->bdf);
	const TenantFile *file = tenants_find(p->facts->tenants, &f->bdf);
	const TenantMark *mark = file ? file->mark : NULL;
	_cleanup_free_ char *who = NULL;

	if (!p->request->unasked || !f->erase || !file || !bdf_equal(&file->bdf, &f->bdf) ||
	    (mark && (mark->n_erases > 0 || (mark->begun && PCI_SAME_IDS(mark, function)))))
		return 0;
	who = tenancy_tenant_text(mark ? mark->domain_uuid : NULL, mark ? mark->domain_name : NULL);
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("%s was not given by gpupass to who had it last", BDF_TEXT(&f->bdf)),
		.cause = strf("it was last used by %s", who),
		.remedy = strf("if nothing on it is needed: gpupass prepare %s", p->plan->group));
}

/* To erase takes what is on an NVMe from its owner. To make a VF takes nothing from anybody. */
static int check_owners(const Planner *p)
{
	int r = plan_check_others(p);

	return r == 0 ? plan_check_all_read(p) : r;
}

/* VFs are made after a boot, too, of a group that is assigned. */
int plan_prepare(Planner *p)
{
	const Group *group = p->facts->group;
	Plan *plan = p->plan;
	int r = plan_check_state(p);

	if (r == 0)
		r = plan_check_unread(p);
	if (r == 0)
		r = plan_check_evidence(p);
	if (r == 0)
		r = plan_fill_functions(p);
	/* An erase takes hours, and nobody else could have a VF of that NIC: the next one erases. */
	if (r == 0 && !group_lacks_vf(group))
		plan_erases(p);
	for (size_t i = 0; r == 0 && i < plan->n_functions; i++)
		r = check_asked(p, &plan->functions[i]);
	if (r == 0 && (plan_count_erases(plan) > 0 || !group_awaits_vf(group)))
		r = check_owners(p);
	if (r == 0)
		r = plan_vfs(p);
	if (r != 0 || (plan_count_erases(plan) == 0 && plan->n_vfs == 0))
		return r;
	if (plan_count_erases(plan) > 0)
		r = plan_check_group_functions(p);
	if (r != 0)
		return r;
	plan_add_step(plan, STEP_PREFLIGHT, true);
	plan_add_step(plan, STEP_VFS, plan->n_vfs > 0);
	plan_add_step(plan, STEP_ERASE, plan_count_erases(plan) > 0);
	plan_add_step(plan, STEP_VERIFY, true);
	return 0;
}
