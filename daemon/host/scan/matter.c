/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/matter.h"

#include "host/scan/sysfs.h"

typedef struct Marks {
	const PciFunction *functions;
	size_t n;
	bool *marks;
} Marks;

size_t matter_slot_end(const PciFunction *functions, size_t n, size_t from, bool *ret_gpu)
{
	size_t i = from;

	*ret_gpu = false;
	for (; i < n && bdf_same_slot(&functions[from].bdf, &functions[i].bdf); i++)
		*ret_gpu |= pci_function_is_nvidia_gpu(&functions[i]);
	return i;
}

static bool same_bus(const Bdf *a, const Bdf *b)
{
	return a->segment == b->segment && a->bus == b->bus;
}

static void mark_bus(const Marks *m, size_t gpu)
{
	const Bdf *bdf = &m->functions[gpu].bdf;

	for (size_t i = gpu; i > 0 && same_bus(&m->functions[i - 1].bdf, bdf); i--)
		m->marks[i - 1] = true;
	for (size_t i = gpu; i < m->n && same_bus(&m->functions[i].bdf, bdf); i++)
		m->marks[i] = true;
}

static void mark_address(const Marks *m, const Bdf *bdf)
{
	const PciFunction *found =
		bsearch(bdf, m->functions, m->n, sizeof(PciFunction), bdf_compare);

	if (found)
		m->marks[found - m->functions] = true;
}

static int mark_member(const char *name, void *userdata)
{
	Bdf bdf;

	if (sysfs_parse_bdf(name, &bdf) >= 0)
		mark_address(userdata, &bdf);
	return 0;
}

/*
 * A group that this function has left since is not there any more: then only itself is in doubt,
 * and it has an event to come. But where a host does not tell members, everybody may be one.
 */
static void mark_iommu_group(int sysfs_fd, int group, Marks *m)
{
	char path[sizeof(SYSFS_IOMMU_GROUPS) + 32];
	int r;

	if (group == IOMMU_GROUP_NONE)
		return;
	snprintf(path, sizeof(path), SYSFS_IOMMU_GROUPS "/%d/devices", group);
	r = sysfs_each_name(sysfs_fd, path, false, mark_member, m);
	if (r < 0)
		memset(m->marks, true, m->n);
}

void matter_mark(int sysfs_fd, const PciFunction *functions, size_t n, bool *marks)
{
	Marks m = { .functions = functions, .n = n, .marks = marks };
	bool gpu;

	for (size_t i = 0, end; i < n; i = end) {
		end = matter_slot_end(functions, n, i, &gpu);
		for (size_t k = i; !gpu && k < end; k++)
			if (pci_function_may_accompany(&functions[k]) &&
			    (k == 0 || functions[k].iommu_group != functions[k - 1].iommu_group))
				mark_iommu_group(sysfs_fd, functions[k].iommu_group, &m);
		if (!gpu)
			continue;
		mark_bus(&m, i);
		for (size_t k = i; k < end; k++) {
			for (size_t u = 0; u < functions[k].n_upstream; u++)
				mark_address(&m, &functions[k].upstream[u]);
			if (k == i || functions[k].iommu_group != functions[k - 1].iommu_group)
				mark_iommu_group(sysfs_fd, functions[k].iommu_group, &m);
		}
	}
}

static bool is_beside(const PciFunction *gpu, const PciFunction *function)
{
	if (same_bus(&gpu->bdf, &function->bdf) || (function->iommu_group != IOMMU_GROUP_NONE &&
						    gpu->iommu_group == function->iommu_group))
		return true;
	return bdf_in(&function->bdf, gpu->upstream, gpu->n_upstream);
}

/* Only functions in a GPU's slot have an upstream or a size of a BAR; kin may be elsewhere. */
bool matter_to(const PciSnapshot *snapshot, const PciFunction *function)
{
	const PciFunction *gpu = NULL;

	if (pci_function_is_kin(function))
		return true;
	EACH_OF (PciFunction, other, snapshot->functions, snapshot->n_functions) {
		if (function->iommu_group != IOMMU_GROUP_NONE &&
		    other->iommu_group == function->iommu_group &&
		    pci_function_may_accompany(other))
			return true;
		if (pci_function_is_nvidia_gpu(other))
			gpu = other;
		if (gpu && bdf_same_slot(&gpu->bdf, &other->bdf) && is_beside(other, function))
			return true;
	}
	return false;
}
