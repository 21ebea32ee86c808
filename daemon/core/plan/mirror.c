/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree by which a guest sees the host's distances, as part of the plan that gives it a group. */
#include "core/plan/planner.h"
#include "util/xalloc.h"

int plan_check_mirror(const Planner *p)
{
	if (p->request->topology != TOPOLOGY_MIRROR || !p->live)
		return 0;
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = strf("running %s cannot get the host's topology", p->use.name),
		.cause = xstrdup("expanders and switches cannot be hotplugged"),
		.remedy = xstrdup("shut it down, or assign to its definition: "
				  "--config"));
}

int plan_mirror(Planner *p, const DomainXml *xml, size_t n)
{
	size_t n_members;
	_cleanup_free_ const PciFunction **members = NULL;

	if (p->request->topology != TOPOLOGY_MIRROR)
		return 0;
	members = group_leads(p->facts->group, &n_members);
	/* A companion that is not there has no place on the host. */
	if (n_members != n)
		return -ESTALE;
	return mirror_make(
		&(MirrorFacts){ .xml = xml,
				.members = members,
				.n_members = n_members,
				.n_nodes = p->facts->host ? p->facts->host->n_nodes : 0 },
		&p->plan->mirror, p->ret_problem);
}
