/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pci-snapshot.h"

#include <errno.h>
#include <stdlib.h>

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
	free(snapshot);
	return NULL;
}
