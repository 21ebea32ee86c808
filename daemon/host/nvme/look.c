/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/nvme/look.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/xalloc.h"

#define SUBSYSTEMS "class/nvme-subsystem"

#include "look.inc"

void nvme_look_add(NvmeLook *look, NvmeHoldKind kind, const char *node, const char *who)
{
	NvmeUse *use = look->use;

	for (size_t i = 0; i < use->n_holds; i++)
		if (use->holds[i].kind == kind && strcmp(use->holds[i].node, node) == 0 &&
		    str_equal(use->holds[i].who, who))
			return;
	if (use->n_holds == NVME_HOLDS_MAX)
		return;
	*GROW(use->holds, use->n_holds) = (NvmeHold){
		.kind = kind,
		.node = xstrdup(node),
		.who = who ? xstrdup(who) : NULL,
	};
}

int nvme_open_disk(int root_fd, const char *node, dev_t number, bool exclusive, int *ret_fd)
{
	int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (exclusive ? O_EXCL : 0);
	_cleanup_close_ int fd = openat(root_fd, node + 1, flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISBLK(st.st_mode) || st.st_rdev != number)
		return -ENXIO;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void add_node(NvmeLook *look, const char *name, const char *directory, bool whole)
{
	_cleanup_free_ char *path = strf("%s/dev", directory), *text = NULL;
	unsigned major = 0, minor = 0;
	NvmeUse *use = look->use;

	if (sysfs_line_if_any(look->roots->sysfs_fd, path, &text) < 0 || !text ||
	    sscanf(text, "%u:%u", &major, &minor) != 2) {
		strv_appendf(&use->unread, "the block device %s: its number is not in sysfs", name);
		return;
	}
	*GROW(look->nodes, look->n_nodes) = (NvmeNode){
		.directory = xstrdup(directory),
		.number = makedev(major, minor),
		.whole = whole,
	};
	strv_append_take(&look->numbers, TAKE_PTR(text));
	strv_appendf(&use->nodes, "/dev/%s", name);
}

/* A namespace and its partitions. */
static void add_disk(NvmeLook *look, const char *name)
{
	_cleanup_free_ char *directory = strf("block/%s", name), *prefix = strf("%sp", name);
	_cleanup_strv_ char **entries = NULL;

	if (dir_list_at(look->roots->sysfs_fd, directory, "", &entries) < 0) {
		strv_appendf(&look->use->unread, "the namespace %s has no block device", name);
		return;
	}
	add_node(look, name, directory, true);
	for (char **entry = entries; entry && *entry; entry++) {
		_cleanup_free_ char *below = strf("%s/%s", directory, *entry);

		if (str_starts_with(*entry, prefix))
			add_node(look, *entry, below, false);
	}
}

/* ---- what the controller has ---- */

static void find_siblings(NvmeLook *look)
{
	_cleanup_strv_ char **subsystems = NULL;
	NvmeUse *use = look->use;
	int r = dir_list_at(look->roots->sysfs_fd, SUBSYSTEMS, "", &subsystems);

	if (r < 0) {
		strv_appendf(&use->unread, "which other controllers reach it: %s", strerror(-r));
		return;
	}
	for (char **name = subsystems; name && *name; name++) {
		_cleanup_free_ char *path = strf(SUBSYSTEMS "/%s", *name);
		_cleanup_strv_ char **entries = NULL;

		if (dir_list_at(look->roots->sysfs_fd, path, "", &entries) < 0 ||
		    !strv_contains(entries, use->controller))
			continue;
		for (char **entry = entries; *entry; entry++)
			if (nvme_is_controller(*entry) && strcmp(*entry, use->controller) != 0)
				strv_append(&use->siblings, *entry);
	}
}

static void find_disks(NvmeLook *look, const char *directory)
{
	_cleanup_strv_ char **entries = NULL;
	int r = dir_list_at(look->roots->sysfs_fd, directory, "", &entries);

	if (r < 0)
		strv_appendf(&look->use->unread, "its namespaces: %s", strerror(-r));
	for (char **entry = entries; entry && *entry; entry++) {
		_cleanup_free_ char *disk = nvme_disk_name(*entry);

		if (disk)
			add_disk(look, disk);
	}
}

int nvme_find_controller(const Roots *roots, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "nvme");
	_cleanup_strv_ char **entries = NULL;
	int r = dir_list_at(roots->sysfs_fd, path, "", &entries);

	*ret = NULL;
	if (r == -ENOENT)
		return sysfs_has_function(roots->sysfs_fd, bdf) ? 0 : -ENOENT;
	for (char **entry = entries; entry && *entry && !*ret; entry++)
		if (nvme_is_controller(*entry))
			*ret = xstrdup(*entry);
	return r;
}

int nvme_look_begin(NvmeLook *look)
{
	_cleanup_free_ char *path = sysfs_function_path(&look->use->bdf, "nvme");
	_cleanup_free_ char *directory = NULL, *state = NULL;
	int r = nvme_find_controller(look->roots, &look->use->bdf, &look->use->controller);

	if (r < 0 || !look->use->controller)
		return r;
	directory = strf("%s/%s", path, look->use->controller);
	state = strf("%s/state", directory);
	r = sysfs_line_if_any(look->roots->sysfs_fd, state, &look->use->state);
	if (r < 0)
		strv_appendf(&look->use->unread, "its state: %s", strerror(-r));
	find_siblings(look);
	find_disks(look, directory);
	return 0;
}
