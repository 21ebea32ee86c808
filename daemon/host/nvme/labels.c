/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libblkid finds on a disk. It may be a tenant's who chose each byte. */
#include <blkid.h>

#include "host/nvme/labels.h"
#include "util/grow.h"
#include "util/xalloc.h"

#define PROBE_NOTHING 1
#define PROBE_AMBIVALENT (-2)

static void free_probe(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

static blkid_probe open_probe(int fd, const char *node, NvmeUse *use)
{
	blkid_probe probe = blkid_new_probe();

	if (probe && blkid_probe_set_device(probe, fd, 0, 0) == 0)
		return probe;
	blkid_free_probe(probe);
	strv_appendf(&use->unread, "what is on %s: libblkid cannot read it", node);
	return NULL;
}

static char *value(blkid_probe probe, const char *name)
{
	const char *text = NULL;

	return blkid_probe_lookup_value(probe, name, &text, NULL) == 0 && text ? xstrdup(text)
									       : NULL;
}

static NvmeLabel *find_label(NvmeUse *use, const char *node)
{
	for (size_t i = 0; i < use->n_labels; i++)
		if (strcmp(use->labels[i].node, node) == 0)
			return &use->labels[i];
	*GROW(use->labels, use->n_labels) = (NvmeLabel){ .node = xstrdup(node) };
	return &use->labels[use->n_labels - 1];
}

void nvme_labels_read(int fd, const char *node, NvmeUse *use)
{
	_cleanup_(free_probe) blkid_probe probe = open_probe(fd, node, use);
	NvmeLabel *label;
	int r;

	if (!probe)
		return;
	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID |
							 BLKID_SUBLKS_LABEL);
	blkid_probe_enable_partitions(probe, 1);
	r = blkid_do_safeprobe(probe);
	if (r == PROBE_NOTHING)
		return;
	if (r != 0 && r != PROBE_AMBIVALENT) {
		strv_appendf(&use->unread, "what is on %s: libblkid cannot read it", node);
		return;
	}
	label = find_label(use, node);
	/* The table of its disk has said that it is a partition. */
	free(TAKE_PTR(label->type));
	if (r == PROBE_AMBIVALENT) {
		label->type = xstrdup("several at once");
		return;
	}
	label->type = value(probe, "TYPE");
	if (!label->type)
		label->type = value(probe, "PTTYPE");
	label->uuid = value(probe, "UUID");
	label->name = value(probe, "LABEL");
}

/* "/dev/nvme0n1p2": a name that ends with a digit has a p before the number (disk_name()). */
void nvme_labels_read_table(int fd, const char *node, NvmeUse *use)
{
	_cleanup_(free_probe) blkid_probe probe = open_probe(fd, node, use);
	blkid_partlist list = NULL;
	int n;

	if (!probe)
		return;
	blkid_probe_enable_partitions(probe, 1);
	list = blkid_probe_get_partitions(probe);
	n = list ? blkid_partlist_numof_partitions(list) : 0;
	for (int i = 0; i < n && use->n_labels < NVME_LABELS_MAX; i++) {
		blkid_partition part = blkid_partlist_get_partition(list, i);
		_cleanup_free_ char *name =
			part ? strf("%sp%d", node, blkid_partition_get_partno(part)) : NULL;
		const char *uuid = part ? blkid_partition_get_uuid(part) : NULL;
		const char *called = part ? blkid_partition_get_name(part) : NULL;
		NvmeLabel *label;

		if (!uuid && !called)
			continue;
		label = find_label(use, name);
		label->part_uuid = uuid ? xstrdup(uuid) : NULL;
		label->part_name = called ? xstrdup(called) : NULL;
		if (!label->type)
			label->type = xstrdup("partition");
	}
}
