/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over /sys/bus/pci/devices. Reads no config space, and no attribute that the kernel reads
 * under the device's lock (driver_override, uevent, sriov_numvfs): on kernel 6.1 such reads block
 * while a remove() of that device hangs. Leaves out functions that vanish during the pass.
 */
#pragma once

#include "core/pci/pci-snapshot.h"

/* sysfs_fd: an open directory, the root of sysfs. */
int scan_pci(int sysfs_fd, PciSnapshot **ret);

/* Vendor, device, subsystem and class of one function, given its open directory. */
int scan_ids(int device_fd, PciFunction *f);
