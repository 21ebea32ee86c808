/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving one PCI function from its driver to another. Blocks for as long as the kernel does: an
 * unbind waits for the driver's remove(), and nvidia's may never return. So this runs only in a
 * disposable worker process (host/launch/ask.h), never in the daemon.
 */
#pragma once

#include "host/wire/move.h"

/*
 * Of heap_reserve(), for what makes a move or a reset: more than either has ever in use once it has
 * begun to write. That is some paths, some files of sysfs, and the answer. The functions of the bus
 * are listed before a reset writes.
 */
#define MOVE_MEMORY_BYTES (128 * 1024)

/*
 * The writes, as a seam. In tests a simulated kernel takes them: it answers a write on a tree of
 * plain files as sysfs would, and can fail in ways that files cannot (EAGAIN, a driver that comes
 * back).
 */
typedef struct DriverOps {
	/* Writes `value` exactly to `path` below this folder, sysfs or gpus_dir. 0 or -errno. */
	int (*write)(void *userdata, int dir_fd, const char *path, const char *value);
	void (*wait)(void *userdata, unsigned milliseconds);
	/* Through vfio, of these functions, a whole slot; NULL: there is no vfio. */
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

/*
 * Sets the override, unbinds, probes (drivers_probe if the override names the driver, otherwise
 * that driver's own bind), then reads again, because drivers_probe reports success even when
 * nothing binds. Retries a bounded number of times after -EAGAIN (deferred probe), while vfio's
 * last user has not given back the IOMMU group, and after udev took the driver back. A second call
 * is harmless and writes nothing. If the target's override names another driver than the target's
 * (a state that another tool left), the override is clear while binding and set at the end.
 *
 * On a vGPU host the nvidia driver counts a GPU's users in unbindLock, those without a file, too:
 * where there is one, it is taken before anything is written, and let go if the function stays.
 *
 * Errors, by phase; other numbers are those of the failed read or write itself:
 *   read             -ENOENT  the function is not there
 *                    -ENODEV  the target driver is not registered; nothing was written
 *                    -EINVAL  no driver can have this name; nothing was written
 *   unbindLock       -EBUSY   the GPU has users, or the driver does not give the lock
 *   driver_override  -EBUSY   it reads otherwise than written: another program writes it, too
 *   probe            -EAGAIN  still deferred after the last try
 *                    -EBUSY   a user of vfio has the IOMMU group, still after 6 s
 *                    -ENODEV  the driver does not take this device
 *   verify           -ENXIO   no driver is bound although the probe reported success
 *                    -EBUSY   another driver is bound, after every try
 *                    -ENOENT  the function vanished meanwhile
 *                    -ENODEV  vfio-pci has it, and its config space reads all ones
 */
void driver_move_with(const DriverOps *ops, int sysfs_fd, const DriverTarget *target,
		      DriverResult *ret);
