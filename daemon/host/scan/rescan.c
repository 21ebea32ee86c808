/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/scan.h"

#include "host/scan/function.h"
#include "host/scan/matter.h"
#include "host/scan/mdev.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/xalloc.h"

/* What snapshots share is kept alive by the last of them, so a chain of them is bounded. */
#define BATCHES_MAX 64

/* The addresses that are not as before, sorted, and the functions that are at them now. */
typedef struct Changes {
	Bdf addresses[SCAN_CHANGED_MAX];
	size_t n_addresses;
	PciFunction *functions;
	size_t n_functions;
} Changes;

LOCAL_CLEAR(Changes, changes_clear)
#include "rescan.inc"

static bool in_gpu_slot(const PciSnapshot *snapshot, const Bdf *bdf)
{
	Bdf other = *bdf;

	for (other.function = 0; other.function < 8; other.function++) {
		const PciFunction *f = pci_snapshot_find(snapshot, &other);

		if (f && pci_function_is_nvidia_gpu(f))
			return true;
	}
	return false;
}

/*
 * What else matters depends on which GPUs there are, and on their places: where these are as
 * before, no other function is to be read in another way. Slots are named when a GPU comes.
 */
static int read_of_gpu(int devices_fd, const PciFunction *was, PciFunction *f)
{
	int r = was ? function_read(devices_fd, true, f) : -ESTALE;

	if (r < 0)
		return r == -ENOENT || r == -ENODEV ? -ESTALE : r;
	f->physical_slot = xstrdup(was->physical_slot);
	return pci_function_same_place(was, f) &&
			       pci_function_is_nvidia_gpu(was) == pci_function_is_nvidia_gpu(f)
		       ? 0
		       : -ESTALE;
}

/* What shares its IOMMU group with one that is new, or elsewhere now, was not read whole. */
static int read_companion(int devices_fd, const PciFunction *was, PciFunction *f)
{
	int r = function_read(devices_fd, true, f);

	if (r < 0)
		return r;
	return was && pci_function_same_place(was, f) ? 0 : -ESTALE;
}

static int read_other(int devices_fd, const PciSnapshot *before, PciFunction *f)
{
	int r = function_read_iommu_group(devices_fd, &f->bdf, &f->iommu_group);

	if (r < 0)
		return r;
	if (matter_to(before, f))
		return function_read(devices_fd, false, f);
	f->iommu_group = IOMMU_GROUP_NONE;
	return 0;
}

/* -ENOENT, -ENODEV: nothing is there now. */
static int read_now(int devices_fd, const PciSnapshot *before, const PciFunction *was,
		    PciFunction *f)
{
	bool of_gpu = in_gpu_slot(before, &f->bdf);
	int r = function_read_ids(devices_fd, f);

	if (of_gpu)
		return r == -ENOENT || r == -ENODEV ? -ESTALE : read_of_gpu(devices_fd, was, f);
	if (r >= 0 && pci_function_is_nvidia_gpu(f))
		return -ESTALE;
	if (r >= 0 && pci_function_may_accompany(f))
		return read_companion(devices_fd, was, f);
	return r < 0 ? r : read_other(devices_fd, before, f);
}

static int look_at(int devices_fd, const PciSnapshot *before, const Bdf *bdf, Changes *changes)
{
	const PciFunction *was = pci_snapshot_find(before, bdf);
	_cleanup_(pci_function_clear) PciFunction now = {
		.bdf = *bdf,
		.iommu_group = IOMMU_GROUP_NONE,
		.numa_node = NUMA_NODE_NONE,
	};
	int r = read_now(devices_fd, before, was, &now);

	/* Then what shared its IOMMU group may matter no more. */
	if (was && pci_function_may_accompany(was) &&
	    (r == -ENOENT || r == -ENODEV || (r >= 0 && !pci_function_may_accompany(&now))))
		return -ESTALE;
	if (r == -ENOENT || r == -ENODEV) {
		if (was)
			changes->addresses[changes->n_addresses++] = *bdf;
		return 0;
	}
	if (r < 0 || (was && pci_function_equal(was, &now)))
		return r;
	changes->addresses[changes->n_addresses++] = *bdf;
	changes->functions[changes->n_functions++] = now;
	now = (PciFunction){ 0 };
	return 0;
}

static int find_changes(int sysfs_fd, const PciSnapshot *before, const Bdf *changed, size_t n,
			Changes *changes)
{
	_cleanup_close_ int devices_fd = -1;
	Bdf sorted[SCAN_CHANGED_MAX];
	int r = dir_open_at(sysfs_fd, SYSFS_PCI_DEVICES, false, &devices_fd);

	changes->functions = xcalloc(n + 1, sizeof(PciFunction));
	if (n > 0)
		memcpy(sorted, changed, n * sizeof(Bdf));
	qsort(sorted, n, sizeof(Bdf), bdf_compare);
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (i == 0 || !bdf_equal(&sorted[i - 1], &sorted[i]))
			r = look_at(devices_fd, before, &sorted[i], changes);
	return r;
}

int scan_pci_changed(int sysfs_fd, const PciSnapshot *before, const Bdf *changed, size_t n,
		     PciSnapshot **ret)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_(changes_clear) Changes changes = { 0 };
	int r;

	if (n > SCAN_CHANGED_MAX || before->n_batches >= BATCHES_MAX)
		return -ESTALE;
	r = find_changes(sysfs_fd, before, changed, n, &changes);
	if (r < 0)
		return r;
	snapshot = pci_snapshot_replace(before, changes.addresses, changes.n_addresses,
					changes.functions, changes.n_functions);
	if (changes.n_functions > 0)
		changes.functions = NULL; /* now the snapshot's */
	changes.n_functions = 0;
	r = scan_mdevs(sysfs_fd, snapshot);
	if (r >= 0)
		r = scan_iommu(sysfs_fd, &snapshot->iommu);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(snapshot);
	return 0;
}
