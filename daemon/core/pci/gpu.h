/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GPUs of a snapshot. A GPU is one slot with all its functions; the display or 3D function
 * leads.
 */
#pragma once

#include "core/pci/board.h"
#include "core/pci/pci-snapshot.h"

typedef struct Gpu {
	const PciFunction *lead;		     /* borrowed from the snapshot */
	const PciFunction **functions _owned_(free); /* by function number; members borrowed */
	size_t n_functions;
	const Board *board; /* NULL: not in the catalogue */
	/* Not from sysfs, but from the nvidia driver's /proc, config space or records; NULL:
	 * not known. */
	char *uuid;	     /* "GPU-…" */
	char *serial_number; /* Device Serial Number, 16 hex digits in groups: "00-04-4b-…" */
} Gpu;

typedef struct GpuSet {
	Gpu *gpus; /* sorted by address of the leading function */
	size_t n_gpus;
	size_t n_nvswitches;
	const PciSnapshot *snapshot; /* borrowed */
} GpuSet;

/* The snapshot must outlive the set. Virtual functions (vGPU) are not GPUs here. */
GpuSet *gpu_set_new(const PciSnapshot *snapshot);
DECLARE_FREE(GpuSet, gpu_set_free)

/* By any function's address; NULL when absent. */
Gpu *gpu_set_find(const GpuSet *set, const Bdf *bdf);

/* Catalogue name, or "10de:2684" for boards that are not in it. */
char *gpu_model(const Gpu *gpu);

/* What must be equal for two boards to be the same model: device and subsystem ids. */
bool gpu_same_model(const Gpu *a, const Gpu *b);

/* "0000:41:00.0, 0000:61:00.0": the leading functions, with `separator` between them. */
char *gpu_addresses(Gpu *const *gpus, size_t n, const char *separator);
