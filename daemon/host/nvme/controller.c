/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/nvme/controller.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/scan/sysfs.h"
#include "util/file.h"

const NvmeOpens nvme_opens = { nvme_open_disk, nvme_open_controller };

int nvme_open_controller(int root_fd, const char *node, dev_t number, int *ret_fd)
{
	_cleanup_close_ int fd =
		openat(root_fd, node + 1, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != number)
		return -ENXIO;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int nvme_controller_open(const Roots *roots, const NvmeOpens *opens, const Bdf *bdf, int *ret_fd)
{
	_cleanup_free_ char *directory = sysfs_function_path(bdf, "nvme"), *name = NULL;
	_cleanup_free_ char *path = NULL, *text = NULL, *node = NULL;
	unsigned major, minor;
	int r = nvme_find_controller(roots, bdf, &name);

	if (r < 0)
		return r;
	if (!name)
		return -ENODEV;
	path = strf("%s/%s/dev", directory, name);
	r = file_read_line_at(roots->sysfs_fd, path, &text);
	if (r < 0)
		return r;
	if (sscanf(text, "%u:%u", &major, &minor) != 2)
		return -EBADMSG;
	node = strf("/dev/%s", name);
	return opens->controller(roots->root_fd, node, makedev(major, minor), ret_fd);
}
