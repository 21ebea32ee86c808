/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resetting one PCI function between two tenants, and checking that it answers again. The kernel
 * waits up to 65 s for a device that does not come back, and locks config space meanwhile: only in
 * a disposable worker process (host/launch/ask.h).
 */
#pragma once

#include "core/facts/reset-report.h"
#include "host/device/driver.h"

/*
 * Writes 1 to the function's `reset`, which makes the kernel try the methods of `reset_method` in
 * their order. Only on a vfio driver or on none. The caller must know that nobody has it open. A
 * bus reset reaches every function of the bus: refused when a board of another slot is on it.
 *
 * The kernel probes a bus method while it enumerates .0, before there is a .1, and later refuses it
 * (ENOTTY) for as long as there is a .1: such a stale method counts as none. So does a first method
 * that is no reset between tenants (reset_method_counts()): nothing is written then. Apart from
 * that, errors count, and so does a device that stays silent afterwards, whatever the write
 * returned: the kernel also returns ENOTTY for a device that did not come back. Any
 * failure is in the report.
 */
void function_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, ResetReport *ret);

/*
 * The same for all functions of the slot of `lead`, through vfio (driver.c). For boards
 * with several functions whose only reset is the bus reset, which the kernel does not make through
 * `reset`. All must be on a vfio driver, and all must answer afterwards. The report's method is
 * "slot".
 */
void slot_reset_with(const DriverOps *ops, int sysfs_fd, const Bdf *lead, ResetReport *ret);
