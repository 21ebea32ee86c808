/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the function's folder in sysfs has of a NIC. */
#pragma once

#include "gpupass/cleanup.h"
#include "util/bdf.h"

typedef struct NicFolder {
	char *driver;
	char **nets, **rdmas;
	char *rdma_part;     /* "mlx5_core.rdma.0": a part of the driver that makes RDMA devices */
	char *rdma_module;   /* "mlx5_ib", which has that part */
	char **subfunctions; /* "mlx5_core.sf.2", "vdpa0" */
} NicFolder;
DECLARE_CLEAR(NicFolder, nic_folder_clear)

/* Into *ret, which was all zeros. -ENOENT: the function is not there. */
int nic_folder_read(int sysfs_fd, const Bdf *bdf, NicFolder *ret);
