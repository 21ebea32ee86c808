/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of NVMes: of a disk, whose bytes a tenant chose, of a drive's firmware, and of files
 * in which others name disks.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "core/nvme/state.h"
#include "core/nvme/use.h"
#include "fuzz.h"
#include "host/nvme/labels.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define NODE "/dev/nvme0n1"

static void count_mount(size_t node, const char *point, void *userdata)
{
	EXPECT(node < 2 && point);
	++*(size_t *)userdata;
}

static void names(const char *text)
{
	static char *const numbers[] = { (char *)"259:0", (char *)"8:1", NULL };
	_cleanup_free_ char *plain = xstrdup(text), *disk = nvme_disk_name(text), *again = NULL;
	size_t n = 0;

	nvme_unescape(plain);
	EXPECT(strlen(plain) <= strlen(text));
	EXPECT(!disk || strncmp(disk, "nvme", 4) == 0);
	again = disk ? nvme_disk_name(disk) : NULL;
	EXPECT(!disk || str_equal(disk, again));
	nvme_mounts_find(text, numbers, count_mount, &n);
	EXPECT(n <= strlen(text));
}

/* An answer can be made of whatever is found, and a word leads to a node, or to none. */
static void labels(const char *bytes, size_t size, const char *text)
{
	_cleanup_close_ int fd = memfd_create("disk", MFD_CLOEXEC);
	_cleanup_(nvme_use_clear) NvmeUse use = { 0 };
	_cleanup_json_ json_t *json = NULL;
	const char *node;

	EXPECT(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	strv_append(&use.nodes, NODE);
	nvme_labels_read(fd, NODE, &use);
	nvme_labels_read_table(fd, NODE, &use);
	EXPECT(use.n_labels <= NVME_LABELS_MAX);
	for (size_t i = 0; i < use.n_labels; i++) {
		_cleanup_free_ char *line = nvme_label_text(&use.labels[i]);

		EXPECT(strncmp(line, NODE, strlen(NODE)) == 0);
	}
	json = json_struct_write(nvme_use_members, &use);
	EXPECT(json);
	node = nvme_use_resolve(&use, text);
	EXPECT(!node || strncmp(node, NODE, strlen(NODE)) == 0);
}

void fuzz_one(const char *bytes, size_t size, const char *text)
{
	NvmeLock lock = nvme_lock_parse((const uint8_t *)bytes, size);

	EXPECT(nvme_lock_to_string(lock));
	names(text);
	labels(bytes, size, text);
}
