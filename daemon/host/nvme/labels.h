/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libblkid finds on an open disk; labels-none.c is where there is no libblkid. */
#pragma once

#include "core/nvme/use.h"

void nvme_labels_read(int fd, const char *node, NvmeUse *use);
/* Of its partitions, what its table says of them. */
void nvme_labels_read_table(int fd, const char *node, NvmeUse *use);
