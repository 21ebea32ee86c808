/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/folder.h"

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#include "folder.inc"

static int list_folder(int sysfs_fd, const Bdf *bdf, const char *name, char ***ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, name);
	int r = dir_list_at(sysfs_fd, path, "", ret);

	return r == -ENOENT ? 0 : r;
}

/* Devices on the auxiliary bus, by which a driver of several parts is made (Linux 5.11). */
static bool is_rdma_part(const char *name)
{
	return strstr(name, ".rdma.") || strstr(name, ".roce.") || strstr(name, ".iwarp.");
}

static int read_parts(int sysfs_fd, const Bdf *bdf, NicFolder *folder)
{
	_cleanup_strv_ char **names = NULL;
	int r = list_folder(sysfs_fd, bdf, NULL, &names);

	for (char **name = names; r >= 0 && name && *name; name++) {
		_cleanup_free_ char *link = strf("%s/driver", *name), *driver = NULL;
		_cleanup_free_ char *path = sysfs_function_path(bdf, link);

		if (strstr(*name, ".sf.") || str_starts_with(*name, "vdpa"))
			strv_append(&folder->subfunctions, *name);
		/* virtio0/net/eth5 */
		if (str_starts_with(*name, "virtio") && !folder->nets) {
			_cleanup_free_ char *net = strf("%s/net", *name);

			r = list_folder(sysfs_fd, bdf, net, &folder->nets);
		}
		if (!is_rdma_part(*name) || folder->rdma_part)
			continue;
		r = sysfs_link_name_if_any(sysfs_fd, path, &driver);
		if (r >= 0 && driver) {
			folder->rdma_part = xstrdup(*name);
			/* "mlx5_ib.rdma": module and driver (auxiliary_driver_register()) */
			folder->rdma_module = xstrndup(driver, strcspn(driver, "."));
		}
	}
	return r;
}

int nic_folder_read(int sysfs_fd, const Bdf *bdf, NicFolder *ret)
{
	int r = sysfs_read_driver(sysfs_fd, bdf, &ret->driver);

	if (r >= 0)
		r = list_folder(sysfs_fd, bdf, "net", &ret->nets);
	if (r >= 0)
		r = list_folder(sysfs_fd, bdf, "infiniband", &ret->rdmas);
	return r < 0 ? r : read_parts(sysfs_fd, bdf, ret);
}
