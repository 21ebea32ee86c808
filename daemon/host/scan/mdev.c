/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/mdev.h"

#include <limits.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define MDEV_DEVICES "bus/mdev/devices"

/* The kernel takes nothing else as a name: guid_parse() in mdev's create_store(). */
static bool is_uuid(const char *name)
{
	return str_has_form(name, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}

/*
 * "../../../devices/pci0000:40/0000:40:01.0/0000:41:00.4/UUID": the folder before the last is the
 * parent. -ENODEV: it is no PCI function; a channel of a mainframe, say.
 */
static int read_parent(int mdevs_fd, const char *uuid, Bdf *ret)
{
	char target[PATH_MAX], *slash;
	ssize_t n = readlinkat(mdevs_fd, uuid, target, sizeof(target) - 1);

	if (n < 0)
		return errno == EINVAL ? -ENODEV : -errno;
	target[n] = '\0';
	slash = strrchr(target, '/');
	if (!slash)
		return -ENODEV;
	*slash = '\0';
	slash = strrchr(target, '/');
	return slash && sysfs_parse_bdf(slash + 1, ret) >= 0 ? 0 : -ENODEV;
}

int mdev_parent_at(int sysfs_fd, const char *uuid, Bdf *ret)
{
	_cleanup_close_ int fd = -1;
	int r = is_uuid(uuid) ? dir_open_at(sysfs_fd, MDEV_DEVICES, false, &fd) : -EINVAL;

	return r < 0 ? r : read_parent(fd, uuid, ret);
}

static int add_mdev(int mdevs_fd, const char *uuid, PciSnapshot *snapshot)
{
	PciMdev mdev = { 0 };
	int r = is_uuid(uuid) ? read_parent(mdevs_fd, uuid, &mdev.parent) : -ENODEV;

	if (r == -ENOENT || r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	mdev.uuid = xstrdup(uuid);
	snapshot->mdevs[snapshot->n_mdevs++] = mdev;
	return 0;
}

int scan_mdevs(int sysfs_fd, PciSnapshot *snapshot)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(sysfs_fd, MDEV_DEVICES, false, &fd);

	if (r == -ENOENT)
		return 0; /* mdev is not loaded */
	if (r >= 0)
		r = dir_list(fd, "", &names);
	if (r < 0)
		return r;
	snapshot->mdevs = xcalloc(strv_length(names) + 1, sizeof(PciMdev));
	for (char **name = names; name && *name; name++) {
		r = add_mdev(fd, *name, snapshot);
		if (r < 0)
			return r;
	}
	return 0;
}
