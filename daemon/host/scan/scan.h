/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over /sys/bus/pci/devices. Reads no config space, and no attribute that the kernel reads
 * under the device's lock (driver_override, uevent, sriov_numvfs): on kernel 6.1 such reads block
 * while a remove() of that device hangs. Leaves out functions that vanish during the pass. Of a
 * function that does not matter to GPUs (matter.h) it reads one attribute, which has its ids.
 */
#pragma once

#include "core/pci/pci-snapshot.h"

/* sysfs_fd: an open directory, the root of sysfs. */
int scan_pci(int sysfs_fd, PciSnapshot **ret);

/* More are no faster than a pass over everything. */
#define SCAN_CHANGED_MAX 64

/*
 * The same as scan_pci(), if only these functions have come, gone or changed since `before`, with
 * which it shares the others. -ESTALE: this cannot be told from them; take scan_pci().
 */
int scan_pci_changed(int sysfs_fd, const PciSnapshot *before, const Bdf *changed, size_t n,
		     PciSnapshot **ret);

/* Whether the kernel has IOMMU groups. */
int scan_iommu(int sysfs_fd, bool *ret);
