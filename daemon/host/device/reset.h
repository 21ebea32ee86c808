/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resetting one PCI function between two tenants, and checking that it answers again. The kernel
 * waits up to 65 s for a device that does not come back, and config space is locked meanwhile: in
 * a disposable worker process only (host/launch/worker.h).
 */
#pragma once

#include "core/facts/reset-report.h"
#include "host/device/driver-ops.h"

/*
 * Writes 1 to the function's `reset`, which lets the kernel try the methods of `reset_method` in
 * their order. Only on a vfio driver or on none; nobody may have it open, which is the caller's to
 * know. A bus reset goes to every function of the bus: refused where one of another slot is on it.
 *
 * A bus method is probed while the kernel enumerates .0, before there is a .1, and then refused
 * (ENOTTY) for as long as there is one: a stale method is none. Otherwise errors count, and so
 * does silence afterwards, whatever the write said: the kernel gives ENOTTY, too, for a device
 * that did not come back. -ENOMEM: no report; anything else is in it.
 */
int function_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, ResetReport *ret);

/*
 * The same for all functions of the slot that `lead` leads, through vfio (vfio-hot-reset.h): for
 * boards with several functions and no reset but the bus's, which the kernel refuses to `reset`.
 * All must be on a vfio driver, and all must answer afterwards. The report's method is "slot".
 */
int slot_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *lead, ResetReport *ret);
