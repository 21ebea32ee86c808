/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The persistence mode of GPUs on NVIDIA's driver: whether the driver keeps the GPU initialised
 * while nobody has it open. It is set with NVML, and lost when the GPU leaves the driver
 * (nv_pci_remove(): rm_disable_gpu_state_persistence()) and at a boot. What nvidia-persistenced does
 * instead is to hold the device file; that is a holder like any other, and no mode.
 */
#pragma once

#include "core/base/json-fields.h"
#include "gpupass/string-table.h"

#define NVIDIA_DRIVER "nvidia"

#define PERSISTENCE_MODES(X)                                                                       \
	X(PERSISTENCE_UNKNOWN, "unknown") /* not asked, not on nvidia, or NVML could not tell */   \
	X(PERSISTENCE_OFF, "off")                                                                  \
	X(PERSISTENCE_ON, "on")

typedef enum PersistenceMode {
#define X(enumerator, name) enumerator,
	PERSISTENCE_MODES(X)
#undef X
		PERSISTENCE_MODE_MAX_,
} PersistenceMode;
DECLARE_STRING_TABLE(persistence_mode, PersistenceMode);

/* Of one GPU, by its leading function. */
typedef struct GpuPersistence {
	Bdf bdf;
	PersistenceMode mode;
	char *why; /* it is unknown, or not what it was set to; NULL otherwise */
} GpuPersistence;

/* NULL: none of them. `list` may be NULL. */
const GpuPersistence *persistence_find(const GpuPersistence *list, size_t n, const Bdf *bdf);
void gpu_persistence_clear(GpuPersistence *gpu);
/* Clears all, and frees the list, which may be NULL. */
void persistence_list_free(GpuPersistence *list, size_t n);

/* As the writers and readers of core/base/json-fields.h. "on" and "off" only: unknown is left
 * out. */
int json_set_persistence_if_known(json_t *object, const char *key, PersistenceMode mode);
void json_read_persistence_if_any(JsonReader *reader, const char *key, PersistenceMode *ret);
