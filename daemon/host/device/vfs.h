/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many VFs a NIC has. In a disposable worker process only: the driver may wait for ever. */
#pragma once

#include "host/device/driver.h"

/*
 * Gives the NIC at `bdf` so many VFs, which no driver takes by itself. A second call writes
 * nothing. autoprobe: drivers take those that somebody else makes later. *ret_number: how many it
 * has at the end.
 *
 *   -ENOENT      it is not there
 *   -EOPNOTSUPP  it has none, or no driver that could make them
 *   -EBUSY       a driver has one of those that there are: nothing was written
 *   -EIO         it has another number than was written
 *   others       errors of the kernel, or of the NIC's driver
 */
int vfs_set(const DriverOps *ops, int sysfs_fd, const Bdf *bdf, unsigned number, bool autoprobe,
	    unsigned *ret_number);
