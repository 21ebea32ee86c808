/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writes of driver_move(), as a seam. In tests a simulated kernel takes them: it answers a
 * write on a tree of plain files as sysfs would, and can fail in ways that files cannot (EAGAIN, a
 * driver that comes back).
 */
#pragma once

#include "host/wire/move.h"

/*
 * Of heap_reserve(), for what makes a move or a reset: more than either has ever in use once it has
 * begun to write. That is some paths, some files of sysfs, and the answer. The functions of the bus
 * are listed before a reset writes.
 */
#define MOVE_MEMORY_BYTES (128 * 1024)

typedef struct DriverOps {
	/* Writes `value` exactly to `path` below this folder, sysfs or gpus_dir. 0 or -errno. */
	int (*write)(void *userdata, int dir_fd, const char *path, const char *value);
	void (*wait)(void *userdata, unsigned milliseconds);
	/* vfio_hot_reset() of these functions, a whole slot; NULL: there is no vfio. */
	int (*hot_reset)(void *userdata, int sysfs_fd, const Bdf *functions, size_t n);
	const char *gpus_dir; /* /proc/driver/nvidia/gpus; NULL: no unbindLock is looked for */
	void *userdata;
} DriverOps;

/* Those of this machine: a write to sysfs, a sleep. */
const DriverOps *driver_real_ops(void);

/*
 * Sets only the override, whatever driver is bound or registered: it decides which driver may bind
 * next. Writes nothing when it is already set; -EBUSY when it reads otherwise than written.
 */
int driver_set_override(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, const char *override);

void driver_move_with(const DriverOps *ops, int sysfs_fd, const DriverTarget *target,
		      DriverResult *ret);
