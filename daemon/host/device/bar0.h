/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BAR 0 of a device, for reading. Only of one that is awake and decodes memory: mapping resource0
 * takes no power reference, and reading config space wakes a device, so the power state is read
 * first. A device that fell off the bus may stall the reader: worker processes only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/bdf.h"

#define BAR0_PAGE 4096U

/*
 * *ret_fd for bar0_map(). -ENODATA with *ret_why (a sentence, not to be freed) when the registers
 * may not or cannot be read now; -errno of a file of sysfs. A locked-down kernel refuses with
 * EPERM; a driver that has claimed the BAR makes the mapping EINVAL.
 */
int bar0_open(int sysfs_fd, const Bdf *bdf, off_t min_size, int *ret_fd, const char **ret_why);

/* What an error of these two means, where they give no sentence for it. */
const char *bar0_error(int r);

/* `offset` is a multiple of BAR0_PAGE; munmap() unmaps it. */
int bar0_map(int fd, size_t size, off_t offset, const volatile uint32_t **ret);
