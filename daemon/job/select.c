/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/select.h"

#include "core/domain/machine-use.h"
#include "core/group/record.h"
#include "util/xalloc.h"

static const Group *find_group(const Prepared *p, const char *name)
{
	return group_set_find_named(p->inventory->groups, p->assignments, name);
}

static int no_such_group(const Prepared *p, const char *name, Problem **ret_problem)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *joined = NULL;
	const Group *its = NULL;
	Bdf bdf;

	if (bdf_parse(name, &bdf) >= 0)
		its = group_set_find_gpu(p->inventory->groups, &bdf);
	if (its)
		return problem_refuse(ret_problem, GPUPASS_ERROR_NO_SUCH_GROUP,
				      .reason = strf("\"%s\" is a GPU, and no group", name),
				      .cause = strf("it is in group %s", its->name),
				      .remedy = strf("name the group: %s", its->name));
	for (size_t i = 0; i < p->inventory->groups->n_items; i++)
		strv_append(&names, p->inventory->groups->items[i].name);
	joined = strv_join(names, ", ");
	return problem_refuse(ret_problem, GPUPASS_ERROR_NO_SUCH_GROUP,
			      .reason = strf("there is no group \"%s\"", name),
			      .cause = names ? strf("the groups of this host are %s", joined)
					     : xstrdup("this host has no NVLink groups"),
			      .remedy = xstrdup("see: gpupass list"));
}

/* ---- domains ---- */

/* `uuid`: of the domain that it is now; NULL: there is none. */
static int check_permitted(const JobRequest *request, const char *word, const char *uuid,
			   Problem **ret_problem)
{
	if (!request->permitted || str_equal(request->permitted_uuid, uuid))
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_STALE_PLAN,
			      .reason = strf("\"%s\" is not the domain that was permitted", word),
			      .cause = strf("polkit was asked about %s%s; it is %s%s now",
					    request->permitted_uuid ? "domain " : "no domain",
					    str_or_empty(request->permitted_uuid),
					    uuid ? "domain " : "no domain", str_or_empty(uuid)),
			      .remedy = xstrdup("try again, and name the domain by its UUID"));
}

static int get_domain(const JobPlace *place, const char *uuid, VirtDomain **ret,
		      Problem **ret_problem)
{
	return place->host->ops->domain_get(place->host, uuid, ret, ret_problem);
}

static int refuse_without_libvirt(const JobPlace *place, Problem **ret_problem)
{
	if (place->rules->policy.domains == DOMAINS_LIBVIRT)
		return 0;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
		.reason =
			xstrdup("gpupassd runs without libvirt (Uri=none), and changes no domain"),
		.remedy = xstrdup(
			"bind a group (gpupass bind GROUP), and give it to the virtual machine in "
			"the host's own way (gpupass export); or set Uri= in gpupassd.conf"));
}

int select_domain(const JobPlace *place, const JobRequest *request, const char *word,
		  const DomainUses *uses, VirtDomain **ret, Problem **ret_problem)
{
	_cleanup_(domain_id_clear) DomainId id = { 0 };
	int r = refuse_without_libvirt(place, ret_problem);

	if (r == 0)
		r = place->host->ops->domain_find(place->host, word, &id, ret_problem);
	if (r != 0)
		return r;
	if (!*id.uuid)
		return domain_ref_missing(word, uses, ret_problem);
	r = check_permitted(request, word, id.uuid, ret_problem);
	return r != 0 ? r : get_domain(place, id.uuid, ret, ret_problem);
}

/* libvirt may no longer have the domain: then its record is released without it. */
static int get_recorded_domain(const JobPlace *place, Prepared *p, Problem **ret_problem)
{
	int r = get_domain(place, p->group->domain_uuid, &p->domain, ret_problem);

	if (r != PROBLEM || (*ret_problem)->error != GPUPASS_ERROR_NO_SUCH_DOMAIN)
		return r;
	*ret_problem = problem_free(*ret_problem);
	return 0;
}

/* ---- assign ---- */

/* A group that another job has in hand is not free. `own` (may be NULL) is this job's. */
static void mark_busy(const JobPlace *place, GroupSet *groups, const Group *own)
{
	EACH (Group, group, groups->items, groups->n_items) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		size_t n;
		_cleanup_free_ Bdf *functions = group_addresses(group, &n);

		if (group == own ||
		    claims_check(place->claims, functions, n, NULL, &problem) != PROBLEM)
			continue;
		group->assignable = false;
		group->state = problem->error == GPUPASS_ERROR_QUARANTINED ? GROUP_QUARANTINED
									   : GROUP_BINDING;
		free(group->reason);
		group->reason = TAKE_PTR(problem->reason);
	}
}

static int select_for_assign(const JobPlace *place, const JobRequest *request, Prepared *p,
			     Problem **ret_problem)
{
	int r = select_domain(place, request, request->domain, p->uses, &p->domain, ret_problem);

	if (r == PROBLEM && (*ret_problem)->error == GPUPASS_ERROR_NO_SUCH_DOMAIN &&
	    request->group && find_group(p, request->domain)) {
		*ret_problem = problem_free(*ret_problem);
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_NO_SUCH_DOMAIN,
			.reason = strf("there is no domain '%s'", request->domain),
			.cause = strf("%s is a group: the domain is named first", request->domain),
			.remedy = strf("name them in this order: %s %s", request->group,
				       request->domain));
	}
	if (r != 0)
		return r;
	if (request->group) {
		p->group = find_group(p, request->group);
		return p->group ? 0 : no_such_group(p, request->group, ret_problem);
	}
	/* The one that was chosen before is this job's own by now. */
	mark_busy(place, p->inventory->groups, p->group);
	return plan_choose_group(p->inventory->groups, p->domain->uuid, request->model, &p->group,
				 ret_problem);
}

/* ---- release ---- */

/* Adds the group to the domain's, once. NULL is none. */
static void add_own(const Group *group, char ***names, const Group **ret)
{
	if (!group || strv_contains(*names, group->name))
		return;
	*ret = group;
	strv_append(names, group->name);
}

/* The name means what a record of the domain names, whatever that is called now. */
static bool is_recorded_name(const Prepared *p, const VirtDomain *domain, const char *name)
{
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(p->assignments, domain->uuid, &position)))
		if (str_equal(record->group_name, name))
			return true;
	return false;
}

/* The groups that a domain has, by our records or by its metadata. *ret is the last of them. */
static void groups_of_domain(const Prepared *p, const VirtDomain *domain, char ***ret_names,
			     const Group **ret)
{
	const GroupSet *groups = p->inventory->groups;
	const DomainUse *use = domain_uses_find(p->uses, domain->uuid);
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(p->assignments, domain->uuid, &position)))
		add_own(group_set_find_assigned(groups, record), ret_names, ret);
	for (char **name = use ? use->gpupass_groups : NULL; name && *name; name++)
		/* A name in the metadata alone is text, and no reason to refuse a release. */
		if (!*ret_names ||
		    (mark_counts(groups, use, *name) && !is_recorded_name(p, domain, *name)))
			add_own(group_set_find(groups, *name), ret_names, ret);
}

static int refuse_unassigned(const Prepared *p, Problem **ret_problem)
{
	const Assignment *namesake = assignments_find_group(p->assignments, p->group->name);
	const Group *other =
		namesake ? group_set_find_assigned(p->inventory->groups, namesake) : NULL;

	if (!other || other == p->group)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
			.reason = xstrdup("it is assigned to no domain"),
			.remedy = strf(
				"nothing to do; to give a bound group back to the host's drivers: "
				"gpupass unbind %s",
				p->group->name));
	return problem_refuse(ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
			      .reason = xstrdup("it is assigned to no domain"),
			      .cause = strf("what %s was assigned by this name is called %s now",
					    namesake->domain_name, other->name),
			      .remedy = strf("if that is meant: gpupass release %s", other->name));
}

/*
 * A tenant may give its domain the name of a group. That must not free the group of another domain
 * when an operator releases the domain by name, and must not keep its own group when the operator
 * releases that.
 */
static int refuse_ambiguous(const Group *group, const DomainId *namesake, Problem **ret_problem)
{
	_cleanup_free_ char *holder =
		group->domain_uuid
			? domain_ref_text(str_or_empty(group->domain_name), group->domain_uuid)
			: xstrdup("no domain");

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
		.reason = strf("\"%s\" is a group and a domain that does not have it",
			       namesake->name),
		.cause = strf("group %s is assigned to %s\n"
			      "the domain of that name is %s",
			      group->name, holder, namesake->uuid),
		.remedy =
			!group->domain_uuid
				? strf("if the domain is meant, give its UUID: gpupass release %s",
				       namesake->uuid)
				: strf("give the UUID of the domain that is meant; for the group: gpupass "
				       "release %s",
				       group->domain_uuid));
}

static int release_group(const JobPlace *place, const JobRequest *request, const DomainId *namesake,
			 Prepared *p, Problem **ret_problem)
{
	const Group *group = p->group;
	int r;

	if (*namesake->uuid && !str_equal(group->domain_uuid, namesake->uuid))
		return refuse_ambiguous(group, namesake, ret_problem);
	r = check_permitted(request, request->target, group->domain_uuid, ret_problem);
	if (r != 0)
		return r;
	return group->domain_uuid ? get_recorded_domain(place, p, ret_problem)
				  : refuse_unassigned(p, ret_problem);
}

static int neither_group_nor_domain(const JobRequest *request, const Prepared *p,
				    Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *missing = NULL;
	int r = domain_ref_missing(request->target, p->uses, &missing);

	if (r != PROBLEM)
		return r;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
		.reason = xstrdup("there is neither a group nor a domain of that name"),
		.cause = xstrdup(missing->cause),
		.remedy = xstrdup(missing->cause ? str_or_empty(missing->remedy)
						 : "see: gpupass list; virsh list --all"));
}

static int no_group(const Prepared *p, const VirtDomain *domain, Problem **ret_problem)
{
	const RecordFaults *faults = &p->assignments->faults;
	const RecordFault *fault = record_faults_find(faults, NULL, 0, NULL, domain->uuid);

	if (fault)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason = strf("what %s has cannot be told: a record cannot be read",
				       domain->name),
			.cause = record_fault_what(fault),
			.remedy = xstrdup(record_fault_remedy(fault)));
	return problem_refuse(ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
			      .reason = strf("%s has no group", domain->name),
			      .remedy = xstrdup("see which domain has which group: gpupass list"));
}

/* `names` has two at least. */
static int refuse_several(const VirtDomain *domain, char *const *names, Problem **ret_problem)
{
	_cleanup_free_ char *list = strv_join(names, ", ");

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
		.reason = strf("%s has several groups: %s", domain->name, list),
		.remedy = strf("name the group that is meant: gpupass release %s", names[0]));
}

static int release_of_domain(Prepared *p, Problem **ret_problem)
{
	_cleanup_strv_ char **names = NULL;

	groups_of_domain(p, p->domain, &names, &p->group);
	if (names && strv_length(names) > 1)
		return refuse_several(p->domain, names, ret_problem);
	return p->group ? 0 : no_group(p, p->domain, ret_problem);
}

/* libvirt may no longer have the domain that the group's record names by this UUID. */
static int release_of_both(const JobPlace *place, const JobRequest *request, Prepared *p,
			   Problem **ret_problem)
{
	const char *its;
	int r;

	p->group = find_group(p, request->group);
	if (!p->group)
		return no_such_group(p, request->group, ret_problem);
	its = p->group->domain_uuid;
	if (str_equal(its, request->domain)) {
		r = check_permitted(request, request->domain, its, ret_problem);
		return r != 0 ? r : get_recorded_domain(place, p, ret_problem);
	}
	r = select_domain(place, request, request->domain, p->uses, &p->domain, ret_problem);
	if (r != 0 || str_equal(its, p->domain->uuid))
		return r;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
		.reason = strf("%s does not have group %s", p->domain->name, p->group->name),
		.remedy = xstrdup("see which domain has which group: gpupass list"));
}

static int select_for_release(const JobPlace *place, const JobRequest *request, Prepared *p,
			      Problem **ret_problem)
{
	_cleanup_(domain_id_clear) DomainId id = { 0 };
	int r;

	if (request->domain)
		return release_of_both(place, request, p, ret_problem);
	p->group = find_group(p, request->target);
	/* A record that libvirt's time has left can be released by the group's name. */
	r = p->group ? 0 : refuse_without_libvirt(place, ret_problem);
	if (r == 0)
		r = place->host->ops->domain_find(place->host, request->target, &id, ret_problem);
	if (r != 0)
		return r;
	if (p->group)
		return release_group(place, request, &id, p, ret_problem);
	if (!*id.uuid)
		return neither_group_nor_domain(request, p, ret_problem);
	r = check_permitted(request, request->target, id.uuid, ret_problem);
	if (r == 0)
		r = get_domain(place, id.uuid, &p->domain, ret_problem);
	if (r != 0)
		return r;
	return release_of_domain(p, ret_problem);
}

/* ---- bind for a virtual machine of Proxmox VE ---- */

/* Boards of which nobody knows whether they are bridged are no group, as for libvirt's hook. */
static bool has_part(const Prepared *p, const DomainUse *use)
{
	bool found = use->unread != NULL;

	for (size_t i = 0; !found && i < use->n_hostdevs; i++)
		found = group_set_find_gpu(p->inventory->groups, &use->hostdevs[i].bdf) == p->group;
	return found && p->group->provenance != PROVENANCE_NONE;
}

static VirtDomain *machine_as_domain(const DomainUse *use)
{
	VirtDomain *domain = xcalloc(1, sizeof(VirtDomain));

	domain->uuid = xstrdup(use->uuid);
	domain->name = xstrdup(use->name);
	domain->active = use->active;
	domain->persistent = true;
	return domain;
}

static int select_machine(const JobPlace *place, const JobRequest *request, Prepared *p,
			  Problem **ret_problem)
{
	const DomainUse *use = machine_use_find(p->uses, request->domain);
	int r;

	if (place->rules->policy.domains != DOMAINS_PROXMOX)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
			.reason = xstrdup("a group is bound for a virtual machine of Proxmox VE "
					  "only"),
			.remedy =
				xstrdup("leave out --domain; or see gpupassd.conf(5), [Proxmox]"));
	if (!use)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_NO_SUCH_DOMAIN,
			.reason = strf("this node has no virtual machine \"%s\"", request->domain),
			.remedy = xstrdup("give its number: qm list"));
	r = check_permitted(request, request->domain, use->uuid, ret_problem);
	if (r != 0)
		return r;
	if (!has_part(p, use))
		return problem_refuse(ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
				      .reason = strf("%s has no part of it", use->name),
				      .remedy = xstrdup("nothing to do"));
	p->domain = machine_as_domain(use);
	return 0;
}

int select_group(const JobPlace *place, const JobRequest *request, Prepared *p,
		 Problem **ret_problem)
{
	switch (request->plan.operation) {
	case OPERATION_ASSIGN:
		return select_for_assign(place, request, p, ret_problem);
	case OPERATION_RELEASE:
		return select_for_release(place, request, p, ret_problem);
	case OPERATION_BIND:
	case OPERATION_UNBIND:
	case OPERATION_RECONCILE:
	case OPERATION_PREPARE:
	case OPERATION_VERIFY:
	case OPERATION_PROBE: /* has no plan; probe.c */
	case OPERATION_MAX_:
		break;
	}
	p->group = find_group(p, request->group);
	if (!p->group)
		return no_such_group(p, request->group, ret_problem);
	if (request->plan.operation == OPERATION_BIND && request->domain)
		return select_machine(place, request, p, ret_problem);
	if (request->plan.operation == OPERATION_RECONCILE && p->group->domain_uuid)
		return get_recorded_domain(place, p, ret_problem);
	return 0;
}

/* ---- claims ---- */

int job_check_free(const JobPlace *place, const JobRequest *request, Problem **ret_problem)
{
	const char *group = request->group ? request->group : request->target;

	return group ? claims_check_group(place->claims, group, ret_problem) : 0;
}

/*
 * Where each function goes is decided by the plan, which comes after the claim.
 */
static bool touches_nvidia(const JobRequest *request, const Group *group)
{
	bool gives = request->plan.operation == OPERATION_UNBIND ||
		     (request->plan.operation == OPERATION_RELEASE && !request->plan.keep_vfio);

	for (size_t i = 0; !gives && i < group->n_gpus; i++)
		gives = str_equal(group->gpus[i]->lead->driver, NVIDIA_DRIVER);
	return gives;
}

/* true: the group that it has chosen went to another job, and it may choose again. */
static bool may_choose_again(const JobPlace *place, const JobRequest *request,
			     const char *domain_uuid)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	return request->plan.operation == OPERATION_ASSIGN && !request->group &&
	       claims_check(place->claims, NULL, 0, domain_uuid, &problem) == 0;
}

/* Who is refused the group must not keep a release of it waiting. */
static int check_record(const Prepared *p, const char *domain_uuid, Problem **ret_problem)
{
	const PlanFacts facts = {
		.groups = p->inventory->groups,
		.group = p->group,
		.uses = p->uses,
		.assignments = p->assignments,
	};

	return plan_check_record(&facts, domain_uuid, ret_problem);
}

int job_claim(const JobPlace *place, const JobRequest *request, const Prepared *p, uint32_t job,
	      uint64_t looked, Problem **ret_problem)
{
	const char *domain_uuid = p->domain ? p->domain->uuid : NULL;
	_cleanup_(footprint_clear) Footprint footprint =
		footprint_of_group(p->inventory->snapshot, p->group);
	const ClaimRequest claim = {
		.kind = CLAIM_JOB,
		.job = job,
		.group = p->group->name,
		.footprint = &footprint,
		.domain_uuid = domain_uuid,
		.looked = looked,
		.ruled = place->ruled,
		.nvidia = touches_nvidia(request, p->group),
	};
	int r;

	r = claims_check_name(place->claims, claim.group, footprint.functions, footprint.n_own,
			      ret_problem);
	if (r != 0)
		return r;
	r = claims_check(place->claims, footprint.functions, footprint.n_own, domain_uuid,
			 ret_problem);
	if (r == 0 && request->plan.operation == OPERATION_ASSIGN)
		r = check_record(p, domain_uuid, ret_problem);
	if (r == 0 && job > 0)
		r = claims_take(place->claims, &claim, ret_problem);
	if (r != PROBLEM || job == 0 ||
	    !(claims_is_stale(place->claims, looked, &footprint.functions[0]) ||
	      may_choose_again(place, request, domain_uuid)))
		return r;
	*ret_problem = problem_free(*ret_problem);
	return -ESTALE;
}
