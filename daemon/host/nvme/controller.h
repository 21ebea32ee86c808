/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of an NVMe controller, by which it is asked and erased. */
#pragma once

#include "host/nvme/look.h"

/*
 * Opens "/dev/nvme0", the character device with this number, or -ENXIO. It is for reading, which is
 * enough for CAP_SYS_ADMIN (nvme_cmd_allowed(), drivers/nvme/host/ioctl.c).
 */
typedef int (*NvmeOpenController)(int root_fd, const char *node, dev_t number, int *ret_fd);
int nvme_open_controller(int root_fd, const char *node, dev_t number, int *ret_fd);

typedef struct NvmeOpens {
	NvmeOpen node;
	NvmeOpenController controller;
} NvmeOpens;
extern const NvmeOpens nvme_opens;

/* Of this function. -ENOENT: there is no such one; -ENODEV: the nvme driver does not have it. */
int nvme_controller_open(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, int *ret_fd);
