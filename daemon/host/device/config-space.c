/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/config-space.h"

#include <fcntl.h>

#include "host/scan/sysfs.h"

void config_space_read(int sysfs_fd, const Bdf *bdf, PcieConfig *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "config");
	_cleanup_close_ int fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	uint8_t bytes[PCIE_CONFIG_BYTES];
	size_t size = 0;
	ssize_t n = 0;

	if (fd < 0)
		return;
	while (size < sizeof(bytes) && (n = read(fd, bytes + size, sizeof(bytes) - size)) > 0)
		size += (size_t)n;
	pcie_config_parse(bytes, n < 0 ? 0 : size, ret);
}
