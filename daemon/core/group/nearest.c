/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/nearest.h"

#include "core/nvme/use.h"
#include "core/pci/pcie-nearest.h"
#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

/* A group has it, or has a VF of the NIC that would be given whole. */
static bool is_taken(const GroupSet *groups, MemberKind kind, const Bdf *bdf)
{
	Bdf physical;

	for (size_t i = 0; i < groups->n_items; i++)
		for (size_t k = 0; k < groups->items[i].n_companions; k++) {
			const Member *member = &groups->items[i].companions[k].member;

			if (bdf_equal(&member->bdf, bdf) ||
			    (kind == MEMBER_NIC && member->kind == MEMBER_VF &&
			     pci_snapshot_physical(groups->snapshot, &member->bdf, &physical) &&
			     bdf_equal(&physical, bdf)))
				return true;
		}
	return false;
}

static bool may_be_chosen(const GroupSet *groups, MemberKind kind, const PciFunction *function)
{
	return member_kind_is(kind == MEMBER_VF ? MEMBER_NIC : kind, function) &&
	       (kind != MEMBER_VF || function->vfs_max > 0) &&
	       (kind != MEMBER_NVME || !nvme_is_behind_vmd(&function->bdf)) &&
	       !is_taken(groups, kind, &function->bdf);
}

/* GPUs and companions, each by themselves. */
static int read_members(char *const *members, Declaration *to, Problem **ret_problem)
{
	for (; members && *members; members++) {
		Selector selector;
		Member member;

		if (member_parse(*members, &member) >= 0)
			*GROW(to->companions, to->n_companions) = member;
		else if (selector_parse(*members, &selector) >= 0)
			*GROW(to->members, to->n_members) = selector;
		else
			return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
					   "\"%s\" names no GPU, NIC, VF or NVMe", *members);
	}
	return 0;
}

static bool is_named(const Declaration *named, const Bdf *bdf)
{
	for (size_t i = 0; i < named->n_companions; i++)
		if (bdf_equal(&named->companions[i].bdf, bdf))
			return true;
	return false;
}

static int search(const NearestWish *wish, MemberKind kind, const Declaration *named,
		  const ResolvedMembers *members, const GroupSet *groups, Bdf *ret,
		  char **ret_reason, Problem **ret_problem)
{
	const PciSnapshot *snapshot = groups->snapshot;
	_cleanup_free_ const PciFunction **candidates =
		xcalloc(snapshot->n_functions + 1, sizeof(*candidates));
	const PciFunction *gpus[GROUP_GPUS_MAX];
	PcieNearest nearest = {
		.kind = wish->kind,
		.candidates = candidates,
		.gpus = gpus,
		.n_gpus = members->n_gpus,
		.n_nodes = wish->n_nodes,
	};

	for (size_t i = 0; i < members->n_gpus; i++)
		gpus[i] = members->gpus[i]->lead;
	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (may_be_chosen(groups, kind, snapshot->functions[i]) &&
		    !is_named(named, &snapshot->functions[i]->bdf))
			candidates[nearest.n_candidates++] = snapshot->functions[i];
	return pcie_nearest(&nearest, ret, ret_reason, ret_problem);
}

int companion_nearest(const NearestWish *wish, const GroupSet *groups, const GpuSet *set,
		      Member *ret, char **ret_reason, Problem **ret_problem)
{
	_cleanup_(resolved_members_clear) ResolvedMembers members = { 0 };
	_cleanup_(declaration_clear) Declaration named = { 0 };
	Member chosen = { 0 };
	int r;

	if (member_kind_from_string(wish->kind, &chosen.kind) < 0)
		return problem_refuse(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				      .reason = strf("nothing is called \"%s\"", wish->kind),
				      .remedy = xstrdup("write nearest:nic, nearest:vf or "
							"nearest:nvme"));
	r = read_members(wish->members, &named, ret_problem);
	if (r != 0)
		return r;
	members = declaration_resolve(&named, set);
	if (members.missing || members.n_gpus == 0)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT, "%s",
				   members.missing ? members.missing
						   : "there is no GPU among these");
	r = search(wish, chosen.kind, &named, &members, groups, &chosen.bdf, ret_reason,
		   ret_problem);
	if (r == 0)
		*ret = chosen;
	return r;
}
