/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/gpu.h"

#include "util/text.h"
#include "util/xalloc.h"

/* Index after the last function of the slot that begins at `start`; a snapshot is sorted. */
static size_t slot_end(const PciSnapshot *snapshot, size_t start)
{
	size_t end = start + 1;

	while (end < snapshot->n_functions &&
	       bdf_same_slot(&snapshot->functions[start]->bdf, &snapshot->functions[end]->bdf))
		end++;
	return end;
}

/*
 * The function that leads a slot. It is nearly always .0, but the class decides. Virtual functions
 * may have addresses in their parent's slot (ARI). Here they are not GPUs of their own.
 */
static const PciFunction *slot_lead(const PciSnapshot *snapshot, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++) {
		const PciFunction *function = snapshot->functions[i];

		if (!function->virtual_function && pci_function_is_nvidia_gpu(function))
			return function;
	}
	return NULL;
}

static void fill_gpu(const PciSnapshot *snapshot, size_t start, size_t end, const PciFunction *lead,
		     Gpu *gpu)
{
	gpu->functions = xcalloc(end - start, sizeof(*gpu->functions));
	for (size_t i = start; i < end; i++)
		if (!snapshot->functions[i]->virtual_function)
			gpu->functions[gpu->n_functions++] = snapshot->functions[i];
	gpu->lead = lead;
	gpu->board = board_find(lead->vendor, lead->device, lead->subsystem_device);
}

static size_t count_gpus(const PciSnapshot *snapshot)
{
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (pci_function_is_nvidia_gpu(snapshot->functions[i]))
			n++;
	return n; /* an upper bound: some may share a slot or be virtual */
}

GpuSet *gpu_set_new(const PciSnapshot *snapshot)
{
	GpuSet *set = xcalloc(1, sizeof(*set));

	set->gpus = xcalloc(count_gpus(snapshot), sizeof(Gpu));
	for (size_t i = 0, end; i < snapshot->n_functions; i = end) {
		const PciFunction *lead;

		end = slot_end(snapshot, i);
		if (pci_function_is_nvswitch(snapshot->functions[i]))
			set->n_nvswitches++;
		lead = slot_lead(snapshot, i, end);
		if (lead)
			fill_gpu(snapshot, i, end, lead, &set->gpus[set->n_gpus++]);
	}
	set->snapshot = snapshot;
	return set;
}

#include "gpu.inc"

Gpu *gpu_set_find(const GpuSet *set, const Bdf *bdf)
{
	EACH (Gpu, gpu, set->gpus, set->n_gpus) {
		if (!bdf_same_slot(&gpu->lead->bdf, bdf))
			continue;
		if (SOME_OF(gpu->functions, gpu->n_functions, bdf_equal(&it->bdf, bdf)))
			return gpu;
	}
	return NULL;
}

char *gpu_model(const Gpu *gpu)
{
	if (gpu->board && gpu->board->device != 0)
		return strf("%s", gpu->board->name);
	return strf("%04x:%04x", gpu->lead->vendor, gpu->lead->device);
}

bool gpu_same_model(const Gpu *a, const Gpu *b)
{
	return PCI_SAME_IDS(a->lead, b->lead);
}

char *gpu_addresses(Gpu *const *gpus, size_t n, const char *separator)
{
	_cleanup_strv_ char **list = NULL;

	for (size_t i = 0; i < n; i++)
		strv_append(&list, BDF_TEXT(&gpus[i]->lead->bdf));
	return strv_join(list, separator);
}
