/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reset of a whole slot through vfio, for boards whose functions have no reset of their own. A
 * display function and its audio share a bus, and the kernel's `reset` does not reset a bus for one
 * of several functions (drivers/pci/pci.c, pci_parent_bus_reset(): ENOTTY). vfio does it for a
 * process that has the IOMMU groups of all of them (VFIO_DEVICE_PCI_HOT_RESET). QEMU does the same
 * when a guest starts; here the caller learns whether it worked.
 */
#pragma once

#include <stddef.h>

#include "core/base/bdf.h"

/*
 * Resets all functions of one slot, which must all be given, the leading one first. Opens their
 * IOMMU groups below `vfio_fd` ("/dev/vfio") meanwhile. Blocks: the kernel may wait a minute for
 * the device, so only in a worker process.
 *
 *   -ENOENT   no vfio for one of them: not on a vfio driver, or no IOMMU
 *   -EBUSY    a process, such as a guest, has one of the groups open
 *   -EXDEV    the reset would reach a function that was not given
 *   -EPERM    an IOMMU group is not viable: a host driver has another function of it
 *   -EOPNOTSUPP   the kernel cannot reset this slot either
 *   others    errors of the kernel
 */
int vfio_hot_reset(int sysfs_fd, int vfio_fd, const Bdf *functions, size_t n);
