/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without libblkid. */
#include "host/nvme/labels.h"

void nvme_labels_read(int fd, const char *node, NvmeUse *use)
{
	strv_appendf(&use->unread, "what is on %s: gpupass was built without libblkid", node);
}

void nvme_labels_read_table(int fd, const char *node, NvmeUse *use)
{
}
