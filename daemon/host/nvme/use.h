/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What on this host uses an NVMe controller: by sysfs, /proc, fstab and configfs, by an open that
 * the kernel refuses while anybody has the disk for himself, and by what libblkid finds on it. May
 * wait for the disk: runs in a worker process.
 */
#pragma once

#include "host/nvme/look.h"

/*
 * -ENOENT: there is no such function. What cannot be looked at is in ret->unread. `labels`: also
 * what is on it, and what of the host's files means it by that.
 */
int nvme_use_read(const Roots *roots, NvmeOpen open_node, const Bdf *bdf, bool labels,
		  NvmeUse *ret);
