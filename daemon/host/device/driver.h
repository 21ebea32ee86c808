/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving one PCI function from its driver to another. Blocks for as long as the kernel does: an
 * unbind waits for the driver's remove(), which nvidia's may never leave. So this runs in a
 * disposable worker process only (host/launch/worker.h), never in the daemon.
 */
#pragma once

#include "host/wire/move.h"

/*
 * Override first, then unbind, then probe (drivers_probe when the override names the driver, that
 * driver's own bind otherwise), then re-read: drivers_probe reports success also when nothing
 * binds. -EAGAIN (deferred probe), an IOMMU group that vfio's last user has not given back yet, and a
 * driver taken back by udev are retried a bounded number of times. Doing it twice is harmless and writes nothing the second time. Where the target's
 * override names another driver than the target's (a state some other tool left), the override is
 * clear while binding and set at the end.
 *
 * Errors, by phase; other numbers are those of the failed read or write itself:
 *   read             -ENOENT  the function is not there
 *                    -ENODEV  the target driver is not registered; nothing was written
 *                    -EINVAL  a name that can be no driver; nothing was written
 *   driver_override  -EBUSY   it reads otherwise than written: somebody else writes it, too
 *   probe            -EAGAIN  still deferred after the last try
 *                    -EBUSY   a user of vfio has the IOMMU group, still after 6 s
 *                    -ENODEV  the driver does not take this device
 *   verify           -ENXIO   no driver is bound although the probe reported success
 *                    -EBUSY   another driver is bound, each time again
 *                    -ENOENT  the function vanished meanwhile
 *                    -ENODEV  vfio-pci has it, and its config space reads all ones
 */
void driver_move(int sysfs_fd, const DriverTarget *target, DriverResult *ret);
