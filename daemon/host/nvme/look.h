/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of a look at one controller: its block devices, and what was found so far. */
#pragma once

#include <sys/types.h>

#include "core/nvme/use.h"
#include "host/device/roots.h"

/*
 * Opens a node, "/dev/nvme0n1", for reading: the block device with this number, or -ENXIO.
 * `exclusive`: -EBUSY if anybody has it, or a partition of it, for himself.
 */
typedef int (*NvmeOpen)(int root_fd, const char *node, dev_t number, bool exclusive, int *ret_fd);
int nvme_open_disk(int root_fd, const char *node, dev_t number, bool exclusive, int *ret_fd);

typedef struct NvmeNode {
	char *directory; /* below sysfs */
	dev_t number;
	bool whole; /* no partition */
} NvmeNode;

typedef struct NvmeLook {
	const Roots *roots;
	NvmeUse *use _borrowed_;
	NvmeNode *nodes; /* of use->nodes, in that order */
	size_t n_nodes;
	char **numbers; /* "259:1", of each */
} NvmeLook;
DECLARE_CLEAR(NvmeLook, nvme_look_clear)

/* "nvme0"; NULL: the driver does not have it. -ENOENT: there is no such function. */
int nvme_find_controller(const Roots *roots, const Bdf *bdf, char **ret);
/*
 * Fills `look`, which has its roots and use, with controller, siblings and nodes. -ENOENT: there is
 * no such function.
 */
int nvme_look_begin(NvmeLook *look);
/* Copies `who`, which may be NULL. */
void nvme_look_add(NvmeLook *look, NvmeHoldKind kind, const char *node, const char *who);
