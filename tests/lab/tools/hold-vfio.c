// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hold-vfio BDF: opens a function of vfio-pci as a user's driver does, and keeps nothing but the
 * file of the device. That is an anonymous inode: no path in /proc tells whose it is, and it has no
 * eventfd by which the kernel could ask for it back. So vfio-pci's remove() waits for this process.
 * Prints "holding" and stays until it is killed.
 */
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	perror(what);
	exit(1);
}

static int open_group(const char *bdf)
{
	char path[96], target[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", bdf);
	n = readlink(path, target, sizeof(target) - 1);
	check((int)n, path);
	target[n] = '\0';
	snprintf(path, sizeof(path), "/dev/vfio/%.16s", strrchr(target, '/') + 1);
	fd = open(path, O_RDWR);
	check(fd, path);
	return fd;
}

int main(int argc, char **argv)
{
	int container, group;

	if (argc != 2)
		return 2;
	container = open("/dev/vfio/vfio", O_RDWR);
	check(container, "/dev/vfio/vfio");
	group = open_group(argv[1]);
	check(ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), "VFIO_GROUP_SET_CONTAINER");
	check(ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU), "VFIO_SET_IOMMU");
	check(ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[1]), "VFIO_GROUP_GET_DEVICE_FD");
	/* The device keeps the group, and the group its container. */
	close(group);
	close(container);
	puts("holding");
	fflush(stdout);
	for (;;)
		pause();
}
