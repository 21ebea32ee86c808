/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the link registers of a Hopper GPU through BAR 0 (core/links/nvlink-registers.h, bar0.h).
 */
#pragma once

#include "core/links/nvlink-registers.h"

/*
 * -ENODATA with *ret_why (a sentence, not to be freed) when the registers may not or cannot be read
 * now; -errno of a file of sysfs.
 */
int nvlink_mmio_read(int sysfs_fd, const Bdf *bdf, NvlinkRegisters *ret, const char **ret_why);
