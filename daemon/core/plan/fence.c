/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fence: GPUs of one group are bridged, and traffic over a bridge passes no IOMMU. So they all
 * go to one domain, or to none. That holds for every domain, running or shut off, no matter who
 * put the hostdev there.
 */
#include "core/domain/ref.h"
#include "core/group/record.h"
#include "core/plan/plan.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static const char *where(const DomainHostdev *hostdev)
{
	if (hostdev->live && hostdev->config)
		return "running with it and defined with it";
	return hostdev->live ? "running with it" : "defined with it";
}

/* gpupass manages this domain: its metadata names a group, or there is a record for it. */
static bool is_managed(const Planner *p, const DomainUse *use)
{
	return use->gpupass_groups || assignments_have_domain(p->facts->assignments, use->uuid);
}

static int refuse_other(const Planner *p, const DomainUse *use, const Bdf *bdf)
{
	const DomainHostdev *hostdev = domain_use_hostdev(use, bdf);
	_cleanup_free_ char *edit = domain_ref_edit_command(use);
	bool managed = is_managed(p, use);

	return problem_refuse(
		p->ret_problem, managed ? GPUPASS_ERROR_GROUP_BUSY : GPUPASS_ERROR_FOREIGN_OWNER,
		.reason = managed ? strf("%s has it", use->name)
				  : strf("%s has %s, without gpupass", use->name, BDF_TEXT(bdf)),
		.cause = strf("domain %s (%s, %s) is %s: %s", use->name, use->uuid,
			      use->active ? "running" : "shut off", where(hostdev), BDF_TEXT(bdf)),
		.remedy =
			managed ? strf("gpupass release %s", domain_ref_word(use->name, use->uuid))
				: strf("take the %s out of that domain: %s",
				       domain_hostdev_noun(hostdev), str_or_empty(edit)));
}

static int check_other_domains(const Planner *p, bool running_only)
{
	EACH_OF (const PciFunction, f, p->functions, p->n_functions) {
		const DomainUse *use;
		size_t position = 0;

		while ((use = domain_uses_holding(p->facts->uses, &f->bdf, &position)))
			if (!str_equal(use->uuid, p->use.uuid) &&
			    (!running_only || domain_use_hostdev(use, &f->bdf)->live))
				return refuse_other(p, use, &f->bdf);
	}
	return 0;
}

static int refuse_record(const Assignment *record, const Group *group, const DomainUses *uses,
			 Problem **ret_problem)
{
	bool known = domain_uses_find(uses, record->domain_uuid) != NULL;

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = strf("it is assigned to %s", record->domain_name),
		.cause = strf("the record of domain %s%s", record->domain_uuid,
			      known ? "" : ", which libvirt no longer has"),
		.remedy = strf("gpupass release %s",
			       known ? domain_ref_word(record->domain_name, record->domain_uuid)
				     : group->name));
}

int plan_check_record(const PlanFacts *facts, const char *domain_uuid, Problem **ret_problem)
{
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(facts->group, &n);
	const Assignment *record =
		group_record(facts->group, functions, n, facts->groups, facts->assignments);

	return !record || str_equal(record->domain_uuid, domain_uuid)
		       ? 0
		       : refuse_record(record, facts->group, facts->uses, ret_problem);
}

/*
 * The domain has a record by this group's name, of other boards. Its mark means those, even if the
 * name is now another group's.
 */
static bool means_another(const Planner *p, const DomainUse *use)
{
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(p->facts->assignments, use->uuid, &position)))
		if (record != p->record && str_equal(record->group_name, p->facts->group->name))
			return true;
	return false;
}

/*
 * One of the domain's hostdevs may be the group's: it is, or its address has no board now. Any text
 * can stand beside a board that is known to be another one, and an alias is text, too.
 */
static bool may_have_it(const Planner *p, const DomainUse *use)
{
	for (size_t i = 0; i < use->n_hostdevs; i++) {
		const Bdf *bdf = &use->hostdevs[i].bdf;

		if (!pci_snapshot_find(p->facts->snapshot, bdf) ||
		    group_set_find_gpu(p->facts->groups, bdf) == p->facts->group)
			return true;
	}
	return false;
}

/*
 * Another domain may have the mark of this group without any of its functions now. The mark counts
 * if gpupass put other functions there. Without any it is only text.
 */
static int check_records(const Planner *p)
{
	const Group *group = p->facts->group;

	if (p->record && !str_equal(p->record->domain_uuid, p->use.uuid))
		return refuse_record(p->record, group, p->facts->uses, p->ret_problem);
	EACH (const DomainUse, use, p->facts->uses->items, p->facts->uses->n_items) {
		if (str_equal(use->uuid, p->use.uuid) || means_another(p, use) ||
		    !mark_counts(p->facts->groups, use, group->name) || !may_have_it(p, use))
			continue;
		return problem_refuse(p->ret_problem, GPUPASS_ERROR_GROUP_BUSY,
				      .reason = strf("%s is marked as having it", use->name),
				      .remedy = strf("gpupass release %s",
						     domain_ref_word(use->name, use->uuid)));
	}
	return 0;
}

static const Bdf *first_function(const Planner *p, bool held)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if ((domain_use_hostdev(&p->use, &p->functions[i]->bdf) != NULL) == held)
			return &p->functions[i]->bdf;
	return NULL;
}

/*
 * A domain whose definition is unknown may have a part of the group, and anybody who may start that
 * domain could start it. So nobody gets the group until the definition is known. A machine of
 * Proxmox VE that is off has nothing, and is looked at when it starts.
 */
int plan_check_all_read(const Planner *p)
{
	const DomainUse *use;
	size_t position = 0;

	do
		use = domain_uses_unread(p->facts->uses, &position);
	while (use && (str_equal(use->uuid, p->use.uuid) || (use->vmid > 0 && !use->active)));
	if (!use)
		return 0;
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = strf("whether domain %s (%s) has a part of it cannot be told", use->name,
			       use->uuid),
		.cause = use->vmid > 0 ? xstrdup(use->unread)
				       : strf("the XML of %s: %s", use->name, use->unread),
		.remedy = domain_use_unread_remedy(use));
}

/* If such a domain runs with functions, the open vfio files show that all the same. */
void plan_warn_of_unread(const Planner *p)
{
	const DomainUse *use;
	size_t position = 0;

	while ((use = domain_uses_unread(p->facts->uses, &position)))
		if (!str_equal(use->uuid, p->use.uuid))
			plan_warn(p->plan,
				  "whether the definition of %s (%s) has a part of it cannot be "
				  "told: %s",
				  use->name, use->uuid, use->unread);
}

/* Refuses when the domain itself has hostdevs of the group that gpupass did not put there. */
static int check_own_domain(const Planner *p)
{
	const Bdf *held = first_function(p, true), *lacking = first_function(p, false);

	if (!held || plan_domain_is_ours(p))
		return 0;
	return problem_refuse(
		p->ret_problem, lacking ? GPUPASS_ERROR_SPLIT_GROUP : GPUPASS_ERROR_FOREIGN_OWNER,
		.reason =
			lacking ? strf("%s has only a part of it, put there without gpupass",
				       p->use.name)
				: strf("%s has it already, put there without gpupass", p->use.name),
		.cause = lacking ? strf("%s has %s and lacks %s", p->use.name, BDF_TEXT(held),
					BDF_TEXT(lacking))
				 : strf("%s has %s and the rest of the group", p->use.name,
					BDF_TEXT(held)),
		.remedy = strf("take these hostdevs out of the domain (virsh edit %s), then "
			       "assign the group",
			       domain_ref_word(p->use.name, p->use.uuid)));
}

int plan_check_fence(const Planner *p)
{
	int r = check_other_domains(p, false);

	if (r == 0)
		r = check_records(p);
	return r == 0 ? check_own_domain(p) : r;
}

int plan_check_others(const Planner *p)
{
	int r = check_other_domains(p, false);

	return r != 0 ? r : check_records(p);
}

int plan_check_not_running_elsewhere(const Planner *p)
{
	return check_other_domains(p, true);
}
