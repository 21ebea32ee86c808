/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree by which a guest sees the host's distances: the part of an assign that plans it. */
#include "core/plan/planner.h"
#include "util/xalloc.h"

/* libvirt has pcie-expander-bus since then (its documentation of domains, "Controllers"). */
#define LIBVIRT_EXPANDER (LIBVIRT_VERSION(1, 3) + 4)

static size_t n_nodes(const Planner *p)
{
	return p->facts->host ? p->facts->host->n_nodes : 0;
}

/* Without a record, a tree of ours says it. What is attached live has no place in a tree. */
void plan_read_topology(Planner *p)
{
	const PlanRequest *request = p->request;
	const Assignment *record = p->record;

	if (request->asks_topology && (p->config || request->topology == TOPOLOGY_MIRROR))
		p->topology = request->topology;
	else if (record && str_equal(record->domain_uuid, p->use.uuid))
		p->topology = record->topology;
	else if (SOME_OF(p->functions, p->n_functions, mirror_tree_find(p->use.tree, &it->bdf)))
		p->topology = TOPOLOGY_MIRROR;
}

bool plan_topology_holds(const Planner *p)
{
	size_t n_members;
	_cleanup_free_ const PciFunction **members = group_leads(p->facts->group, &n_members);
	_cleanup_free_ char *flaw = mirror_flaw(p->use.tree, p->topology == TOPOLOGY_MIRROR,
						members, n_members, n_nodes(p));

	return !flaw;
}

int plan_check_mirror(const Planner *p)
{
	bool asks_flat = p->request->asks_topology && p->request->topology == TOPOLOGY_FLAT;

	if (p->topology != TOPOLOGY_MIRROR || !p->live)
		return 0;
	if (!asks_flat && plan_count_hostdevs(p, true) == p->n_functions && plan_topology_holds(p))
		return 0;
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = strf("running %s cannot get the host's topology", p->use.name),
		.cause = xstrdup(asks_flat ? "--live alone changes no topology that is assigned"
					   : "expanders and switches cannot be hotplugged"),
		.remedy = xstrdup("shut it down, or assign to its definition: --config"));
}

/* Each group has expanders of its own, so the guest sees members of two groups as NODE or SYS. */
static void warn_of_others(Planner *p, const PciFunction *const *members, size_t n_members)
{
	EACH (const DomainHostdev, hostdev, p->use.hostdevs, p->use.n_hostdevs) {
		const PciFunction *other = pci_snapshot_find(p->facts->snapshot, &hostdev->bdf);
		const PciFunction *near = NULL;

		if (other && !SOME_OF(p->functions, p->n_functions, it == other))
			near = FIND_OF(members, n_members,
				       pcie_distance(it, other, n_nodes(p)) < PCIE_NODE);
		if (near) {
			plan_warn(p->plan,
				  "%s is near to %s on the host, and not in the guest: each group "
				  "has a tree of its own",
				  BDF_TEXT(&near->bdf), BDF_TEXT(&other->bdf));
			return;
		}
	}
}

int plan_mirror(Planner *p, const DomainXml *xml, size_t n)
{
	uint64_t version = p->facts->host ? p->facts->host->libvirt_version : 0;
	_cleanup_free_ const PciFunction **members = NULL;
	char *old = NULL;
	size_t n_members;

	if (p->topology != TOPOLOGY_MIRROR)
		return 0;
	/* What its QEMU lacks libvirt finds when it takes the definition, and refuses. */
	old = plan_old_version("libvirt", version, "pcie-expander-bus needs", LIBVIRT_EXPANDER);
	if (old)
		return problem_refuse(
			p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			.reason = xstrdup("its guest cannot have the host's topology"),
			.cause = old,
			.remedy = xstrdup("upgrade libvirt, or assign with --topology=flat"));
	members = group_leads(p->facts->group, &n_members);
	/* A companion that is not there has no place on the host. */
	if (n_members != n)
		return -ESTALE;
	warn_of_others(p, members, n_members);
	return mirror_make(&(MirrorFacts){ .xml = xml,
					   .members = members,
					   .n_members = n_members,
					   .n_nodes = n_nodes(p) },
			   &p->plan->mirror, p->ret_problem);
}
