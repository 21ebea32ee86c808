/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtual machine of Proxmox VE that is about to start, or has just ended. Nothing but its
 * definition says what it is to have, so the check is of that: the whole group, surely, and nobody
 * else's. Proxmox VE itself checks no group, and two definitions with one GPU are no fault to it.
 */
#include "core/plan/planner.h"

#include "util/xalloc.h"

static int refuse_part(const Planner *p, const Bdf *has, const Bdf *lacks)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
		.reason = strf("%s has only a part of it", p->use.name),
		.cause =
			strf("%s has %s and lacks %s", p->use.name, BDF_TEXT(has), BDF_TEXT(lacks)),
		.remedy = strf("give it the whole group: gpupass export --format=proxmox %u %s; or "
			       "take it out: qm set %u --delete hostpciN",
			       p->use.vmid, p->facts->group->name, p->use.vmid));
}

static int refuse_alternative(const Planner *p, const Bdf *bdf)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
		.reason = strf("whether %s gets %s is not certain", p->use.name, BDF_TEXT(bdf)),
		.cause = xstrdup(
			"its mapping has several devices of this node, and Proxmox VE takes "
			"any of them; or its hostpci line has a key or a value for which "
			"Proxmox VE may leave the line out"),
		.remedy =
			strf("give each GPU a hostpci of its own: gpupass export --format=proxmox "
			     "%u %s",
			     p->use.vmid, p->facts->group->name));
}

static int check_whole(const Planner *p)
{
	const Bdf *has = NULL, *lacks = NULL;

	for (size_t i = 0; i < p->n_functions; i++) {
		const Bdf *bdf = &p->functions[i]->bdf;
		const DomainHostdev *hostdev = domain_use_hostdev(&p->use, bdf);

		if (hostdev && hostdev->maybe)
			return refuse_alternative(p, bdf);
		if (hostdev && hostdev->config)
			has = has ? has : bdf;
		else
			lacks = lacks ? lacks : bdf;
	}
	return has && lacks ? refuse_part(p, has, lacks) : 0;
}

/* It may have any function. */
static int check_read(const Planner *p)
{
	if (!p->use.unread)
		return 0;
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			      .reason = strf("what %s has cannot be told", p->use.name),
			      .cause = xstrdup(p->use.unread),
			      .remedy = domain_use_unread_remedy(&p->use));
}

int plan_check_machine(const Planner *p)
{
	int r = check_read(p);

	if (r == 0)
		r = check_whole(p);
	if (r == 0)
		r = plan_check_others(p);
	if (r == 0)
		r = plan_check_all_read(p);
	return r == 0 ? plan_check_evidence(p) : r;
}
