/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Erases an NVMe, by libnvme: in a worker process only, which may take hours. */
#pragma once

#include "core/nvme/erase.h"
#include "host/nvme/state.h"

/*
 * Begins this way of erasing; of a format, it returns at its end. What is erased may be in use by
 * nobody: each of its disks is claimed first, and kept until the command returns. Another
 * serial number than `serial` fails: somebody has put another one in since it was looked at. Where
 * it is by now, or why it failed, is in the answer; an erase under way is not begun again.
 *
 * -ENOENT, -ENODEV: as above; -EBUSY: somebody has a disk of it for himself.
 */
int nvme_erase_begin(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, NvmeWay way,
		     const char *serial, NvmeErase *ret);
