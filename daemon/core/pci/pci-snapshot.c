/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pci-snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#define CLASS_DISPLAY_VGA 0x0300
#define CLASS_DISPLAY_3D 0x0302
#define CLASS_DISPLAY_OTHER 0x0380
#define CLASS_BRIDGE_OTHER 0x0680

static int compare_functions(const void *a, const void *b)
{
	const PciFunction *x = a, *y = b;

	return bdf_compare(&x->bdf, &y->bdf);
}

int pci_snapshot_seal(PciSnapshot *snapshot)
{
	if (snapshot->n_functions < 2)
		return 0; /* qsort() must not get NULL */
	qsort(snapshot->functions, snapshot->n_functions, sizeof(PciFunction), compare_functions);
	for (size_t i = 1; i < snapshot->n_functions; i++)
		if (bdf_equal(&snapshot->functions[i - 1].bdf, &snapshot->functions[i].bdf))
			return -EEXIST;
	return 0;
}

const PciFunction *pci_snapshot_find(const PciSnapshot *snapshot, const Bdf *bdf)
{
	PciFunction key = { .bdf = *bdf };

	if (snapshot->n_functions == 0)
		return NULL;
	return bsearch(&key, snapshot->functions, snapshot->n_functions, sizeof(PciFunction),
		       compare_functions);
}

const PciMdev *pci_snapshot_find_mdev(const PciSnapshot *snapshot, const char *uuid)
{
	for (size_t i = 0; i < snapshot->n_mdevs; i++)
		if (strcasecmp(snapshot->mdevs[i].uuid, uuid) == 0)
			return &snapshot->mdevs[i];
	return NULL;
}

/* A routing id: with ARI the parts of an address have no other meaning. */
static unsigned routing_id(const Bdf *bdf)
{
	return (unsigned)bdf->bus << 8 | (unsigned)bdf->device << 3 | bdf->function;
}

/* PCI Express Base Specification, SR-IOV: First VF Offset and VF Stride count routing ids. */
static bool has_vf_at(const PciFunction *function, const Bdf *vf)
{
	unsigned first = routing_id(&function->bdf) + function->vf_offset, at = routing_id(vf);

	if (function->vfs_max == 0 || function->vf_offset == 0 ||
	    function->bdf.segment != vf->segment || at < first)
		return false;
	if (function->vf_stride == 0)
		return at == first;
	return (at - first) % function->vf_stride == 0 &&
	       (at - first) / function->vf_stride < function->vfs_max;
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
		if (has_vf_at(&snapshot->functions[i], vf)) {
			*ret = snapshot->functions[i].bdf;
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

void pci_function_clear(PciFunction *function)
{
	free(function->driver);
	free(function->physical_slot);
	free(function->reset_methods);
	free(function->power_state);
	free(function->upstream);
	*function = (PciFunction){ 0 };
}

PciSnapshot *pci_snapshot_free(PciSnapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	for (size_t i = 0; i < snapshot->n_functions; i++)
		pci_function_clear(&snapshot->functions[i]);
	free(snapshot->functions);
	for (size_t i = 0; i < snapshot->n_mdevs; i++)
		free(snapshot->mdevs[i].uuid);
	free(snapshot->mdevs);
	free(snapshot);
	return NULL;
}
