/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The second half of a scan: facts that are needed only of NVIDIA's display and 3D functions, and
 * their slot.
 */
#pragma once

#include "core/pci/pci-snapshot.h"

/* `snapshot` is sealed. Functions that have vanished since are taken out of it. */
int scan_details(int sysfs_fd, int devices_fd, PciSnapshot *snapshot);
