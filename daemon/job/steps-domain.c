/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting a group's functions into a domain and taking them out: its definition, and live. */
#include <limits.h>

#include "core/domain/xml.h"
#include "core/drift/drift.h"
#include "core/mirror/mirror.h"
#include "job/steps.h"
#include "util/text.h"
#include "util/xalloc.h"

static const HostOps *host_ops(const StepContext *c)
{
	return c->place->host->ops;
}

static int get_domain(const StepContext *c, VirtDomain **ret, Problem **ret_problem)
{
	return host_ops(c)->domain_get(c->place->host, c->plan->domain_uuid, ret, ret_problem);
}

static int read_definition(StepContext *c, char **ret, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	int r = get_domain(c, &domain, ret_problem);

	if (r != 0)
		return r;
	if (!domain->config_xml)
		return problem_set(ret_problem, GPUPASS_ERROR_STALE_PLAN,
				   "%s has no definition any more", c->plan->domain_name);
	*ret = TAKE_PTR(domain->config_xml);
	return 0;
}

static int redefine(StepContext *c, const char *from, const char *to, Problem **ret_problem)
{
	return host_ops(c)->domain_define(c->place->host, c->plan->domain_uuid, from, to,
					  ret_problem);
}

/* The domain's record of this group before this job. NULL: it had none. */
static const Assignment *record_before(const StepContext *c)
{
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(c->prepared->assignments, c->plan->domain_uuid,
					       &position)))
		if (SOME(c->plan->functions, c->plan->n_functions,
			 assignment_function(record, &it->bdf)))
			return record;
	return NULL;
}

/* The group's name in the domain, which may be an old one. */
static const char *name_before(const StepContext *c)
{
	const Assignment *record = record_before(c);

	return record ? record->group_name : c->plan->group;
}

static int without_group(const StepContext *c, const char *xml, char **ret, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *parsed = NULL;
	_cleanup_free_ Bdf *functions = plan_addresses(c->plan);
	bool changed;
	int r = domain_xml_parse(xml, &parsed, ret_problem);

	if (r != 0)
		return r;
	domain_xml_remove_group(parsed, c->plan->group, functions, c->plan->n_functions, &changed);
	if (!str_equal(name_before(c), c->plan->group))
		domain_xml_remove_group(parsed, name_before(c), functions, c->plan->n_functions,
					&changed);
	*ret = domain_xml_to_text(parsed);
	return 0;
}

/*
 * The plan lists functions GPU by GPU, then companions, of which each has a port of its own. This
 * cannot restore what --fit=apply wrote, so then it leaves the group out of our mark, too:
 * reconcile finds it missing, and writes both. A tree comes back by numbers that this definition
 * leaves. If that has no room for it any more the group is back all the same, and drift shows it.
 */
static int with_group(const StepContext *c, const char *xml, char **ret, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *parsed = NULL;
	_cleanup_(domain_use_clear) DomainUse before = { 0 };
	_cleanup_(mirror_tree_freep) MirrorTree *tree = NULL;
	_cleanup_(problem_freep) Problem *no_room = NULL;
	const Assignment *record = record_before(c);
	DomainXmlGpu gpus[GROUP_GPUS_MAX + GROUP_COMPANIONS_MAX] = { 0 };
	Bdf leads[ELEMENTS(gpus)];
	bool unnamed;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < c->plan->n_functions; i++) {
		const PlanFunction *f = &c->plan->functions[i];

		if (plan_begins_board(c->plan, i)) {
			if (n == ELEMENTS(gpus))
				return -E2BIG;
			leads[n++] = f->bdf;
		}
		gpus[n - 1].functions[gpus[n - 1].n_functions++] = f->bdf;
		gpus[n - 1].mac = f->mac;
		gpus[n - 1].vlan = f->vlan;
		gpus[n - 1].clique =
			record && record->peer_access != PEER_ACCESS_OFF && !f->companion;
	}
	r = domain_xml_parse(xml, &parsed, ret_problem);
	if (r == 0)
		r = domain_use_from_xml(NULL, c->plan->xml_before, &before, ret_problem);
	if (r != 0)
		return r;
	tree = mirror_tree_part(before.tree, leads, n);
	if (tree && mirror_number(tree, parsed, &no_room) != 0)
		tree = mirror_tree_free(tree);
	r = domain_xml_add_group(parsed, name_before(c), gpus, n, tree, ret_problem);
	if (r != 0)
		return r;
	if (record && (record->apply_fit || record->apply_numa))
		domain_xml_unname_group(parsed, name_before(c), &unnamed);
	*ret = domain_xml_to_text(parsed);
	return 0;
}

/* *ret_bare: this definition without our part; *ret: nothing but that differs from the one before. */
static int compare_bare(const StepContext *c, const char *now, char **ret_bare, bool *ret,
			Problem **ret_problem)
{
	_cleanup_free_ char *before = NULL;
	int r = without_group(c, now, ret_bare, ret_problem);

	if (r == 0)
		r = without_group(c, c->plan->xml_before, &before, ret_problem);
	if (r == 0)
		*ret = domain_xml_equivalent(*ret_bare, before);
	return r;
}

/*
 * The definition is neither the one before nor the one of this job. If only our part differs, we
 * put back the whole definition before (libvirt did not return the new one, or failed half way).
 * Otherwise somebody else edits the domain, and we put back only our part into their definition.
 */
static int undefine_ours(StepContext *c, const char *now, Problem **ret_problem)
{
	_cleanup_free_ char *bare = NULL, *with = NULL;
	bool only_ours = false;
	int r = compare_bare(c, now, &bare, &only_ours, ret_problem);

	if (r != 0)
		return r;
	if (only_ours)
		return redefine(c, now, c->plan->xml_before, ret_problem);
	if (c->plan->operation == OPERATION_RECONCILE)
		return 0; /* our part in their definition is as the assignment says */
	/* Of a release, the group is still in it; else nothing of ours is. */
	if (domain_xml_equivalent(bare, now) != (c->plan->operation == OPERATION_RELEASE))
		return 0;
	if (c->plan->operation == OPERATION_ASSIGN && !record_before(c))
		return redefine(c, now, bare, ret_problem);
	r = with_group(c, bare, &with, ret_problem);
	return r != 0 ? r : redefine(c, now, with, ret_problem);
}

static int undefine(StepContext *c, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	const char *now;
	int r;

	if (c->not_defined)
		return 0;
	r = get_domain(c, &domain, ret_problem);
	/* What a release took out comes back. */
	if (r == 0 && c->plan->operation == OPERATION_RELEASE)
		r = step_mark_tenant(c, ret_problem);
	if (r != 0)
		return r;
	now = domain->config_xml;
	if (!now)
		return 0; /* somebody undefined the domain while its guest ran */
	if (domain_xml_equivalent(now, c->plan->xml_before))
		return 0;
	if (c->defined_xml && domain_xml_equivalent(now, c->defined_xml))
		return redefine(c, now, c->plan->xml_before, ret_problem);
	return undefine_ours(c, now, ret_problem);
}

static int read_use(const StepContext *c, DomainUse *ret, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	int r = get_domain(c, &domain, ret_problem);

	return r == 0 ? domain_use_from_xml(domain->live_xml, domain->config_xml, ret, ret_problem)
		      : r;
}

/* Checks that each function is, or is not, a hostdev in this XML. */
static int hostdevs_hold(const StepContext *c, bool live, bool wanted, Problem **ret_problem)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	int r = read_use(c, &use, ret_problem);

	if (r != 0)
		return wanted ? r : step_forgive_gone(r, ret_problem);
	for (size_t i = 0; i < c->plan->n_functions; i++) {
		const Bdf *bdf = &c->plan->functions[i].bdf;
		const DomainHostdev *hostdev = domain_use_hostdev(&use, bdf);
		bool is = hostdev && (live ? hostdev->live : hostdev->config);

		if (is == wanted)
			continue;
		return problem_set(ret_problem,
				   wanted ? GPUPASS_ERROR_ATTACH_FAILED
					  : GPUPASS_ERROR_DETACH_TIMEOUT,
				   "%s is %s in the %s of %s after all", BDF_TEXT(bdf),
				   wanted ? "not" : "still", live ? "running guest" : "definition",
				   c->plan->domain_name);
	}
	return 0;
}

/* Before reconcile, all hostdevs may be there, but not as they should be. */
static int defined_by_us(const StepContext *c, Problem **ret_problem)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_free_ Bdf *functions = plan_addresses(c->plan);
	int r = read_use(c, &use, ret_problem);

	if (r != 0 || (drift_defined_by_us(&use, c->plan->group, functions, c->plan->n_functions) &&
		       plan_vfs_held(c->plan, &use)))
		return r;
	return problem_set(ret_problem, GPUPASS_ERROR_DEFINE_FAILED,
			   "the definition of %s does not have the group as it was defined",
			   c->plan->domain_name);
}

/*
 * A libvirt that does not know an element leaves it out, and says nothing. Of a tree nothing is
 * left to libvirt.
 */
static int defined_alike(const StepContext *c, Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 }, wanted = { 0 };
	int r = get_domain(c, &domain, ret_problem);

	if (r == 0)
		r = domain_use_from_xml(NULL, domain->config_xml, &use, ret_problem);
	if (r == 0)
		r = domain_use_from_xml(NULL, c->plan->xml_after, &wanted, ret_problem);
	for (size_t i = 0; r == 0 && i < c->plan->n_functions; i++) {
		const Bdf *bdf = &c->plan->functions[i].bdf;
		const DomainHostdev *is = domain_use_hostdev(&use, bdf);
		const DomainHostdev *was = domain_use_hostdev(&wanted, bdf);

		if (!is || !was)
			continue;
		if (was->clique && !is->clique)
			r = problem_set(
				ret_problem, GPUPASS_ERROR_DEFINE_FAILED,
				"libvirt did not keep the peer access in the definition of %s",
				c->plan->domain_name);
		else if (mirror_tree_find(wanted.tree, bdf) && !str_equal(is->path, was->path))
			r = problem_set(
				ret_problem, GPUPASS_ERROR_DEFINE_FAILED,
				"the definition of %s does not have %s where it was defined",
				c->plan->domain_name, BDF_TEXT(bdf));
	}
	return r;
}

static int defined(StepContext *c, Problem **ret_problem)
{
	bool has = c->plan->operation != OPERATION_RELEASE;
	int r = c->plan->operation == OPERATION_RECONCILE
			? defined_by_us(c, ret_problem)
			: hostdevs_hold(c, false, has, ret_problem);

	return r == 0 && has ? defined_alike(c, ret_problem) : r;
}

/*
 * libvirt went away during the definition. It took effect if the definition has what we asked for.
 * An undo may put back the whole definition only if nothing but our part differs.
 */
static int was_defined(StepContext *c, bool *ret, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *missing = NULL;
	_cleanup_free_ char *now = NULL, *bare = NULL;
	bool only_ours = false;
	int r = read_definition(c, &now, ret_problem);

	if (r != 0 || domain_xml_equivalent(now, c->plan->xml_before))
		return r;
	r = defined(c, &missing);
	if (r != 0)
		return r == PROBLEM ? 0 : r;
	*ret = true;
	r = compare_bare(c, now, &bare, &only_ours, ret_problem);
	if (r == 0 && only_ours)
		c->defined_xml = TAKE_PTR(now);
	return r;
}

static int write_definition(StepContext *c, Problem **ret_problem)
{
	bool done = false;
	int r = c->again ? was_defined(c, &done, ret_problem) : 0;

	if (r != 0 || done)
		return r;
	if (c->plan->operation != OPERATION_RELEASE)
		r = step_mark_tenant(c, ret_problem);
	if (r != 0)
		return r;
	r = redefine(c, c->plan->xml_before, c->plan->xml_after, ret_problem);
	/* Only the first try can be sure that nothing of ours is in it. */
	if (r == PROBLEM && (*ret_problem)->error == GPUPASS_ERROR_STALE_PLAN && !c->again)
		c->not_defined = true;
	if (r != 0)
		return r;
	/* libvirt fills in addresses and defaults. An undo compares with this result. */
	return read_definition(c, &c->defined_xml, ret_problem);
}

static int define(StepContext *c, Problem **ret_problem)
{
	int r = write_definition(c, ret_problem);

	return c->plan->operation == OPERATION_RELEASE ? step_forgive_gone(r, ret_problem) : r;
}

const StepOps step_define = {
	.act = define,
	.undo = undefine,
	.holds = defined,
	.changes = STEP_CHANGES_DEFINITION,
};

/*
 * In reverse order: the display function was attached first, and is detached last. may_stop: a
 * cancel counts between two functions. It cuts no function's wait short: a guest may still do what
 * it was asked for after we stopped waiting.
 */
static int detach_range(StepContext *c, size_t n, bool may_stop, size_t *done,
			Problem **ret_problem)
{
	uint64_t timeout = c->place->rules->policy.detach_timeout_usec;

	for (size_t i = n; i-- > 0;) {
		int r = may_stop ? cancellation_check(c->place->cancel, ret_problem) : 0;

		if (r == 0)
			r = host_ops(c)->domain_detach(c->place->host, c->plan->domain_uuid,
						       &c->plan->functions[i].bdf, timeout,
						       ret_problem);
		r = step_forgive_gone(r, ret_problem);
		if (r != 0)
			return r;
		(*done)++;
	}
	return 0;
}

static int attach(StepContext *c, Problem **ret_problem)
{
	int marked = step_mark_tenant(c, ret_problem);

	if (marked != 0)
		return marked;
	for (; c->n_attached < c->plan->n_functions; c->n_attached++) {
		int r = cancellation_check(c->place->cancel, ret_problem);

		if (r != 0)
			return r;
		c->in_guest = true;
		r = host_ops(c)->domain_attach(c->place->host, c->plan->domain_uuid,
					       c->plan->hostdevs[c->n_attached], ret_problem);
		if (r != 0)
			return r;
	}
	return 0;
}

/* Detaches the function that failed, too: libvirt may have reached QEMU before the failure, and
 * detaching a function that is not there is harmless. */
static int unattach(StepContext *c, Problem **ret_problem)
{
	size_t n = c->n_attached < c->plan->n_functions ? c->n_attached + 1 : c->n_attached;
	size_t detached = 0;

	return detach_range(c, n, false, &detached, ret_problem);
}

static int attached(StepContext *c, Problem **ret_problem)
{
	return hostdevs_hold(c, true, true, ret_problem);
}

const StepOps step_attach = {
	.act = attach,
	.undo = unattach,
	.holds = attached,
	.changes = STEP_CHANGES_GUEST,
	/* Leave functions that the guest may still have on vfio-pci. */
	.barrier = true,
	.announced = true,
};

static int detach(StepContext *c, Problem **ret_problem)
{
	return detach_range(c, c->plan->n_functions, true, &c->n_detached, ret_problem);
}

/* A VF with the MAC and VLAN that it had: what is declared may be others by now. */
static int attach_again(StepContext *c, size_t i, const DomainHostdev *was, Problem **ret_problem)
{
	_cleanup_free_ char *hostdev =
		*was->mac ? domain_xml_interface(c->plan->group, i, &was->bdf, was->mac, was->vlan)
			  : plan_device_xml(c->plan, i);

	if (was->vlan == UINT_MAX)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			.reason = strf("%s is not given back to the guest", BDF_TEXT(&was->bdf)),
			.cause = xstrdup("it had more than one VLAN, or its VLAN is not known"),
			.remedy = xstrdup("shut the domain down, then release the group"));
	return host_ops(c)->domain_attach(c->place->host, c->plan->domain_uuid, hostdev,
					  ret_problem);
}

/*
 * Attaches what was detached, in the order of the plan, and also the function that failed: the
 * guest may have released it after all, and attaching a function that is there is harmless. The
 * guest gets no function that it did not have before.
 */
static int undetach(StepContext *c, Problem **ret_problem)
{
	size_t n = c->plan->n_functions;
	size_t first = c->n_detached < n ? n - c->n_detached - 1 : 0;
	_cleanup_(virt_domain_freep) VirtDomain *now = NULL;
	_cleanup_(domain_use_clear) DomainUse before = { 0 };
	int r = get_domain(c, &now, ret_problem);

	if (r != 0 || !now->active)
		return r; /* the guest ended, and gets nothing back */
	r = step_mark_tenant(c, ret_problem);
	if (r == 0)
		r = domain_use_from_xml(c->prepared->domain->live_xml, NULL, &before, ret_problem);
	for (size_t i = first; r == 0 && i < n; i++) {
		const DomainHostdev *was = domain_use_hostdev(&before, &c->plan->functions[i].bdf);

		if (was)
			r = attach_again(c, i, was, ret_problem);
	}
	return r;
}

static int detached(StepContext *c, Problem **ret_problem)
{
	return hostdevs_hold(c, true, false, ret_problem);
}

const StepOps step_detach = {
	.act = detach,
	.undo = undetach,
	.holds = detached,
	.changes = STEP_CHANGES_GUEST,
	.shows = GROUP_DETACHING,
};
