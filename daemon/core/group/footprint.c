/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/footprint.h"

#include "util/grow.h"
#include "util/text.h"

#include "footprint.inc"

static void add(Footprint *footprint, const Bdf *function)
{
	if (bdf_in(function, footprint->functions, footprint->n_functions))
		return;
	*GROW(footprint->functions, footprint->n_functions) = *function;
}

static void add_group(Footprint *footprint, const Group *group)
{
	size_t n;
	_cleanup_free_ Bdf *functions = group_addresses(group, &n);

	for (size_t i = 0; i < n; i++)
		add(footprint, &functions[i]);
	footprint->n_own = footprint->n_functions;
}

static void add_iommu_group(Footprint *footprint, const PciSnapshot *snapshot, int iommu_group)
{
	for (size_t i = 0; iommu_group != IOMMU_GROUP_NONE && i < snapshot->n_functions; i++)
		if (snapshot->functions[i]->iommu_group == iommu_group)
			add(footprint, &snapshot->functions[i]->bdf);
}

static void add_nics(Footprint *footprint, const PciSnapshot *snapshot, const Group *group)
{
	EACH (const Companion, companion, group->companions, group->n_companions) {
		Bdf nic, vf;

		if (companion->member.kind != MEMBER_VF || companion->function ||
		    !pci_snapshot_physical(snapshot, &companion->member.bdf, &nic))
			continue;
		add(footprint, &nic);
		for (unsigned k = 0; pci_function_vf(pci_snapshot_find(snapshot, &nic), k, &vf);
		     k++)
			add(footprint, &vf);
	}
}

Footprint footprint_of_group(const PciSnapshot *snapshot, const Group *group)
{
	Footprint footprint = { 0 };

	add_group(&footprint, group);
	for (size_t i = 0; i < footprint.n_own; i++) {
		const PciFunction *own = pci_snapshot_find(snapshot, &footprint.functions[i]);

		add_iommu_group(&footprint, snapshot, own ? own->iommu_group : IOMMU_GROUP_NONE);
	}
	add_nics(&footprint, snapshot, group);
	return footprint;
}

bool footprints_meet(const Footprint *a, const Footprint *b)
{
	return SOME(a->functions, a->n_functions, bdf_in(it, b->functions, b->n_functions));
}

static bool has_same(const GroupSet *groups, const Group *group)
{
	const Group *other = group_set_find(groups, group->name);

	if (!other || other->n_gpus != group->n_gpus || other->provenance != group->provenance ||
	    !str_equal(other->fault, group->fault))
		return false;
	for (size_t i = 0; i < group->n_gpus; i++)
		if (!bdf_equal(&group->gpus[i]->lead->bdf, &other->gpus[i]->lead->bdf))
			return false;
	return !SOME(group->companions, group->n_companions,
		     !group_companion(other, &it->member.bdf)) &&
	       other->n_companions == group->n_companions;
}

Footprint footprint_of_change(const GroupSet *before, const GroupSet *after)
{
	Footprint footprint = { 0 };

	for (size_t i = 0; i < before->n_items; i++)
		if (!has_same(after, &before->items[i]))
			add_group(&footprint, &before->items[i]);
	for (size_t i = 0; i < after->n_items; i++)
		if (!has_same(before, &after->items[i]))
			add_group(&footprint, &after->items[i]);
	return footprint;
}
