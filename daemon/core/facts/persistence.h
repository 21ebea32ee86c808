/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The persistence mode of GPUs on NVIDIA's driver: whether the driver keeps the GPU initialised
 * while nobody has it open. NVML sets it. The GPU loses it when it leaves the driver
 * (nv_pci_remove(): rm_disable_gpu_state_persistence()) and at boot. nvidia-persistenced does not
 * set the mode: it holds the device file open. Such a GPU has the mode on as far as plans go, and
 * its keeper lets go of it when nvidia-smi turns it off (worker/persistence.c).
 */
#pragma once

#include <sys/types.h>

#include "core/base/json-struct.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

#define NVIDIA_DRIVER "nvidia"

#define PERSISTENCE_MODES(X)                                                                       \
	X(PERSISTENCE_UNKNOWN, "unknown") /* not asked, not on nvidia, or NVML could not say */    \
	X(PERSISTENCE_OFF, "off")                                                                  \
	X(PERSISTENCE_ON, "on")

DECLARE_ENUM(persistence_mode, PersistenceMode, PERSISTENCE_MODES, PERSISTENCE_MODE_MAX_);

/*
 * MIG mode, which parts a board into slices. In MIG mode NVLink is off (NVIDIA's MIG user guide,
 * "Application Considerations": no GPU to GPU peer access). The board keeps the mode without its
 * driver, so a guest finds it as the host left it.
 */
#define MIG_MODES(X)                                                                               \
	X(MIG_UNKNOWN, "unknown") /* NVML does not say: most boards cannot do it */                \
	X(MIG_OFF, "off")                                                                          \
	X(MIG_ON, "on")

DECLARE_ENUM(mig_mode, MigMode, MIG_MODES, MIG_MODE_MAX_);

/* Of one GPU, by its leading function. */
typedef struct GpuPersistence {
	Bdf bdf _json_(as "address");
	PersistenceMode mode _json_(if_any, wrong "is neither on nor off");
	/* now, and after the board's next reset */
	MigMode mig, mig_pending _json_(if_any, wrong "is neither on nor off");
	/* why it is unknown, or not what it was set to */
	char *why _json_(as "reason", if_any);
	/* nvidia-persistenced, until an inspection has seen that it has it not */
	pid_t kept_by _json_(or_0);
} GpuPersistence;
DECLARE_JSON(GpuPersistence, gpu_persistence_members)
DECLARE_CLEAR(GpuPersistence, gpu_persistence_clear)

/* NULL: none of them. `list` may be NULL. */
DECLARE_FIND(GpuPersistence, persistence_find)
/* Clears all, and frees the list, which may be NULL. */
DECLARE_FREE_LIST(GpuPersistence, persistence_list_free)
