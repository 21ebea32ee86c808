/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mediated devices of a host: vGPUs that are no PCI functions. */
#pragma once

#include "core/pci/pci-snapshot.h"

/*
 * The function or the VF that an mdev is made of.
 * -ENOENT: it is not there; -ENODEV: its parent is no PCI function; -EINVAL: that is no UUID.
 */
int mdev_parent_at(int sysfs_fd, const char *uuid, Bdf *ret);

/* Reads links only, which no driver serves. Those whose parent is no PCI function are left out. */
int scan_mdevs(int sysfs_fd, PciSnapshot *snapshot);
