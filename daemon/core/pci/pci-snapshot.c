/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pci-snapshot.h"

#include <strings.h>

#include "core/pci/driver-name.h"
#include "util/text.h"
#include "util/xalloc.h"

#define CLASS_DISPLAY_VGA 0x0300
#define CLASS_DISPLAY_3D 0x0302
#define CLASS_DISPLAY_OTHER 0x0380
#define CLASS_BRIDGE_OTHER 0x0680
#define BASE_CLASS_DISPLAY 0x03
#define CLASS_AUDIO 0x0403
#define CLASS_USB 0x0c03
#define CLASS_SERIAL_OTHER 0x0c80

struct PciBatch {
	PciFunction *functions;
	size_t n_functions;
	atomic_uint shared; /* by snapshots of several threads, beside the first */
};
LOCAL_REF(PciBatch, batch_ref)
LOCAL_FREE(PciBatch, batch_free)

static void reserve(PciSnapshot *snapshot, size_t functions, size_t batches)
{
	snapshot->functions = xreallocarray(snapshot->functions, snapshot->n_functions + functions,
					    sizeof(PciFunction *));
	snapshot->batches =
		xreallocarray(snapshot->batches, snapshot->n_batches + batches, sizeof(PciBatch *));
}

static void add_batch(PciSnapshot *snapshot, PciFunction *functions, size_t n)
{
	PciBatch *batch = xcalloc(1, sizeof(*batch));

	batch->functions = functions;
	batch->n_functions = n;
	snapshot->batches[snapshot->n_batches++] = batch;
}

void pci_snapshot_adopt(PciSnapshot *snapshot, PciFunction *functions, size_t n)
{
	reserve(snapshot, n, 1);
	add_batch(snapshot, functions, n);
	for (size_t i = 0; i < n; i++)
		snapshot->functions[snapshot->n_functions++] = &functions[i];
}

static int compare_functions(const void *a, const void *b)
{
	const PciFunction *const *x = a, *const *y = b;

	return bdf_compare(&(*x)->bdf, &(*y)->bdf);
}

/* There are at most so many. */
static void list_virtuals(PciSnapshot *snapshot, size_t most)
{
	free(snapshot->virtuals);
	snapshot->virtuals = xcalloc(most, sizeof(PciFunction *));
	snapshot->n_virtuals = 0;
	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (snapshot->functions[i]->virtual_function)
			snapshot->virtuals[snapshot->n_virtuals++] = snapshot->functions[i];
}

static bool is_sorted(const PciSnapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->n_functions; i++)
		if (compare_functions(&snapshot->functions[i - 1], &snapshot->functions[i]) > 0)
			return false;
	return true;
}

int pci_snapshot_seal(PciSnapshot *snapshot)
{
	/* A scan has sorted them already. */
	if (!is_sorted(snapshot))
		qsort(snapshot->functions, snapshot->n_functions, sizeof(PciFunction *),
		      compare_functions);
	for (size_t i = 1; i < snapshot->n_functions; i++)
		if (bdf_equal(&snapshot->functions[i - 1]->bdf, &snapshot->functions[i]->bdf))
			return -EEXIST;
	list_virtuals(snapshot,
		      COUNT(snapshot->functions, snapshot->n_functions, (*it)->virtual_function));
	return 0;
}

const PciFunction *pci_snapshot_find(const PciSnapshot *snapshot, const Bdf *bdf)
{
	const PciFunction key = { .bdf = *bdf }, *wanted = &key;
	PciFunction *const *found;

	if (snapshot->n_functions == 0)
		return NULL;
	found = bsearch(&wanted, snapshot->functions, snapshot->n_functions, sizeof(PciFunction *),
			compare_functions);
	return found ? *found : NULL;
}

/* The index of the first function that is not before this address. */
static size_t lower_bound(const PciSnapshot *snapshot, const Bdf *bdf)
{
	size_t from = 0, end = snapshot->n_functions;

	while (from < end) {
		size_t middle = from + (end - from) / 2;

		if (bdf_compare(&snapshot->functions[middle]->bdf, bdf) < 0)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}

static void share_range(PciSnapshot *snapshot, const PciSnapshot *before, size_t from, size_t end)
{
	if (end > from)
		memcpy(snapshot->functions + snapshot->n_functions, before->functions + from,
		       (end - from) * sizeof(*before->functions));
	snapshot->n_functions += end - from;
}

/* `snapshot` has room for everything. */
static void merge(PciSnapshot *snapshot, const PciSnapshot *before, const Bdf *addresses,
		  size_t n_addresses, PciFunction *functions, size_t n)
{
	size_t at = 0, taken = 0;

	for (size_t i = 0; i < n_addresses; i++) {
		size_t found = lower_bound(before, &addresses[i]);

		share_range(snapshot, before, at, found);
		at = found;
		if (found < before->n_functions &&
		    bdf_equal(&before->functions[found]->bdf, &addresses[i]))
			at++;
		if (taken < n && bdf_equal(&functions[taken].bdf, &addresses[i]))
			snapshot->functions[snapshot->n_functions++] = &functions[taken++];
	}
	share_range(snapshot, before, at, before->n_functions);
}

PciSnapshot *pci_snapshot_replace(const PciSnapshot *before, const Bdf *addresses,
				  size_t n_addresses, PciFunction *functions, size_t n)
{
	PciSnapshot *snapshot = xcalloc(1, sizeof(*snapshot));

	reserve(snapshot, before->n_functions + n, before->n_batches + 1);
	if (n > 0)
		add_batch(snapshot, functions, n);
	for (size_t i = 0; i < before->n_batches; i++)
		snapshot->batches[snapshot->n_batches++] = batch_ref(before->batches[i]);
	merge(snapshot, before, addresses, n_addresses, functions, n);
	list_virtuals(snapshot, before->n_virtuals + n);
	snapshot->iommu = before->iommu;
	snapshot->taken_usec = before->taken_usec;
	return snapshot;
}

const PciMdev *pci_snapshot_find_mdev(const PciSnapshot *snapshot, const char *uuid)
{
	return FIND(snapshot->mdevs, snapshot->n_mdevs, strcasecmp(it->uuid, uuid) == 0);
}

/* A routing id: with ARI the parts of an address have no other meaning. */
static unsigned routing_id(const Bdf *bdf)
{
	return (unsigned)bdf->bus << 8 | (unsigned)bdf->device << 3 | bdf->function;
}

/* PCI Express Base Specification, SR-IOV: First VF Offset and VF Stride count routing ids. */
bool pci_function_vf(const PciFunction *function, unsigned number, Bdf *ret)
{
	unsigned at =
		routing_id(&function->bdf) + function->vf_offset + number * function->vf_stride;

	if (function->vf_offset == 0 || number >= function->vfs_max || at > UINT16_MAX ||
	    (number > 0 && function->vf_stride == 0))
		return false;
	*ret = (Bdf){ function->bdf.segment, (uint8_t)(at >> 8), (uint8_t)(at >> 3 & 0x1f),
		      (uint8_t)(at & 7) };
	return true;
}

unsigned pci_function_vfs_for(const PciFunction *function, const Bdf *vf)
{
	unsigned first = routing_id(&function->bdf) + function->vf_offset, at = routing_id(vf);
	unsigned number =
		at < first || function->vf_stride == 0 ? 0 : (at - first) / function->vf_stride;
	Bdf there;

	return pci_function_vf(function, number, &there) && bdf_equal(&there, vf) ? number + 1 : 0;
}

static bool is_known(const Bdf *bdf)
{
	const Bdf none = { 0 };

	return !bdf_equal(bdf, &none);
}

bool pci_snapshot_physical(const PciSnapshot *snapshot, const Bdf *vf, Bdf *ret)
{
	const PciFunction *function = pci_snapshot_find(snapshot, vf);

	if (function && (!function->virtual_function || is_known(&function->physical))) {
		*ret = function->physical;
		return function->virtual_function;
	}
	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (pci_function_vfs_for(snapshot->functions[i], vf) > 0) {
			*ret = snapshot->functions[i]->bdf;
			return true;
		}
	return false;
}

bool pci_function_is_nvidia_gpu(const PciFunction *function)
{
	uint32_t class_subclass = function->class_code >> 8;

	return function->vendor == PCI_VENDOR_NVIDIA &&
	       (class_subclass == CLASS_DISPLAY_VGA || class_subclass == CLASS_DISPLAY_3D ||
		class_subclass == CLASS_DISPLAY_OTHER);
}

char *pci_function_path(const PciFunction *function)
{
	size_t n = function->n_upstream;
	char *path = n > 0 ? xstrdup(BDF_TEXT(&function->upstream[0])) : NULL;

	for (size_t i = 1; path && i <= n; i++) {
		const Bdf *bdf = i < n ? &function->upstream[i] : &function->bdf;
		_cleanup_free_ char *above = path;

		path = strf("%s/%02x.%x", above, bdf->device, bdf->function);
	}
	return path;
}

bool pci_function_on_vfio(const PciFunction *function)
{
	return driver_on_vfio(function->driver, function->vfio_dev);
}

bool pci_function_is_nvswitch(const PciFunction *function)
{
	uint16_t id = function->device;

	if (function->vendor != PCI_VENDOR_NVIDIA ||
	    function->class_code >> 8 != CLASS_BRIDGE_OTHER)
		return false;
	/* Ids decide, because other NVIDIA bridges have class 06 80, too (old chipsets). */
	return id == 0x1ac2 || id == 0x1ae8 || (id >= 0x1af0 && id <= 0x1aff) ||
	       (id >= 0x22a0 && id <= 0x22a7);
}

bool pci_function_may_accompany(const PciFunction *function)
{
	return function->class_code >> 16 == PCI_BASE_CLASS_NETWORK ||
	       function->class_code == PCI_CLASS_NVME;
}

bool pci_function_is_kin(const PciFunction *function)
{
	uint32_t class_subclass = function->class_code >> 8;

	return function->vendor == PCI_VENDOR_NVIDIA || class_subclass >> 8 == BASE_CLASS_DISPLAY ||
	       class_subclass == CLASS_AUDIO || class_subclass == CLASS_USB ||
	       class_subclass == CLASS_SERIAL_OTHER || pci_function_may_accompany(function);
}

bool pci_function_same_place(const PciFunction *a, const PciFunction *b)
{
	if (a->n_upstream != b->n_upstream)
		return false;
	for (size_t i = 0; i < a->n_upstream; i++)
		if (!bdf_equal(&a->upstream[i], &b->upstream[i]))
			return false;
	return bdf_equal(&a->bdf, &b->bdf) && a->iommu_group == b->iommu_group &&
	       a->numa_node == b->numa_node && str_equal(a->physical_slot, b->physical_slot);
}

#include "pci-snapshot.inc"
