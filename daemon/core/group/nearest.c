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
	const PciSnapshot *snapshot = groups->snapshot;
	bool taken = group_set_find_gpu(groups, bdf);

	for (size_t i = 0; kind == MEMBER_NIC && i < snapshot->n_virtuals; i++)
		taken |= bdf_equal(&snapshot->virtuals[i]->physical, bdf) &&
			 group_set_find_gpu(groups, &snapshot->virtuals[i]->bdf);
	return taken;
}

static bool may_be_chosen(const GroupSet *groups, MemberKind kind, const PciFunction *function)
{
	return member_kind_is(kind == MEMBER_VF ? MEMBER_NIC : kind, function) &&
	       (kind != MEMBER_VF || function->vfs_max > 0) &&
	       (kind != MEMBER_NVME || !nvme_is_behind_vmd(&function->bdf)) &&
	       !is_taken(groups, kind, &function->bdf);
}

static int find_gpu(const char *text, const GpuSet *set, const PciFunction **ret,
		    Problem **ret_problem)
{
	_cleanup_(selector_clear) Selector selector = { 0 };
	_cleanup_free_ char *why = NULL;
	const Gpu *gpu;

	if (selector_parse(text, &selector) < 0)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				   "\"%s\" names no GPU, NIC, VF or NVMe", text);
	gpu = selector_resolve(&selector, set, &why);
	if (!gpu)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT, "%s", why);
	*ret = gpu->lead;
	return 0;
}

int companion_nearest(const char *kind, char *const *members, const GroupSet *groups,
		      const GpuSet *set, size_t n_nodes, Member *ret, char **ret_reason,
		      Problem **ret_problem)
{
	const PciSnapshot *snapshot = groups->snapshot;
	_cleanup_free_ const PciFunction **gpus = NULL;
	_cleanup_free_ const PciFunction **candidates =
		xcalloc(snapshot->n_functions + 1, sizeof(*candidates));
	PcieNearest near = { .kind = kind, .candidates = candidates, .n_nodes = n_nodes };
	_cleanup_free_ Bdf *named = NULL;
	size_t n_named = 0;
	Member member;
	int r = 0;

	if (member_kind_from_string(kind, &ret->kind) < 0)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				   "\"%s\" is neither nic, vf nor nvme", kind);
	for (; r == 0 && members && *members; members++)
		if (member_parse(*members, &member) >= 0)
			*GROW(named, n_named) = member.bdf;
		else
			r = find_gpu(*members, set, GROW(gpus, near.n_gpus), ret_problem);
	if (r == 0 && near.n_gpus == 0)
		r = problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				"there is no GPU among these");
	for (size_t i = 0; r == 0 && i < snapshot->n_functions; i++)
		if (may_be_chosen(groups, ret->kind, snapshot->functions[i]) &&
		    !bdf_in(&snapshot->functions[i]->bdf, named, n_named))
			candidates[near.n_candidates++] = snapshot->functions[i];
	near.gpus = gpus;
	return r == 0 ? pcie_nearest(&near, &ret->bdf, ret_reason, ret_problem) : r;
}
