/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/vfio-hot-reset.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "gpupass/cleanup.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* A slot has at most 8 functions, so no bus with one board can have more than this. */
#define AFFECTED_MAX 64U

typedef struct HotReset {
	int container;
	int device;
	int groups[8]; /* open files, one an IOMMU group */
	int numbers[8];
	size_t n_groups;
} HotReset;

static void hot_reset_done(HotReset *h)
{
	/*
	 * Closes the device before its group, and the group before its container: the kernel resets
	 * a function once more when the last user of its bus closes it (vfio_pci_core_disable()).
	 */
	close_fd(h->device);
	for (size_t i = 0; i < h->n_groups; i++)
		close_fd(h->groups[i]);
	close_fd(h->container);
}

static int read_iommu_group(int sysfs_fd, const Bdf *bdf, int *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "iommu_group");
	_cleanup_free_ char *name = NULL;
	unsigned long long number;
	int r;

	r = file_link_name_at(sysfs_fd, path, &name);
	if (r < 0)
		return r;
	if (str_to_unsigned(name, 10, INT32_MAX, &number) < 0)
		return -EBADMSG;
	*ret = (int)number;
	return 0;
}

/* The container's IOMMU can be chosen only once it has a group. */
static int add_group(HotReset *h, int vfio_fd, int number)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	_cleanup_close_ int fd = -1;
	char name[16];

	for (size_t i = 0; i < h->n_groups; i++)
		if (h->numbers[i] == number)
			return 0;
	if (h->n_groups == ELEMENTS(h->groups))
		return -E2BIG;
	snprintf(name, sizeof(name), "%d", number);
	fd = openat(vfio_fd, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, VFIO_GROUP_GET_STATUS, &status) < 0)
		return -errno;
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		return -EPERM;
	if (ioctl(fd, VFIO_GROUP_SET_CONTAINER, &h->container) < 0)
		return -errno;
	if (h->n_groups == 0 && ioctl(h->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		return -errno;
	h->numbers[h->n_groups] = number;
	h->groups[h->n_groups++] = TAKE_FD(fd);
	return 0;
}

static int open_groups(HotReset *h, int sysfs_fd, int vfio_fd, const Bdf *functions, size_t n)
{
	h->container = openat(vfio_fd, "vfio", O_RDWR | O_CLOEXEC);
	if (h->container < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		int number = -1;
		int r = read_iommu_group(sysfs_fd, &functions[i], &number);

		if (r >= 0)
			r = add_group(h, vfio_fd, number);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The first group that was opened has the leading function. */
static int open_device(HotReset *h, const Bdf *lead)
{
	h->device = ioctl(h->groups[0], VFIO_GROUP_GET_DEVICE_FD, BDF_TEXT(lead));
	return h->device < 0 ? -errno : 0;
}

/* The kernel would refuse as well; this check makes sure, and names the function. */
static int check_affected(const HotReset *h, const Bdf *functions, size_t n)
{
	_cleanup_free_ struct vfio_pci_hot_reset_info *info = NULL;
	size_t size = sizeof(*info) + AFFECTED_MAX * sizeof(info->devices[0]);

	info = xcalloc(1, size);
	info->argsz = (uint32_t)size;
	if (ioctl(h->device, VFIO_DEVICE_GET_PCI_HOT_RESET_INFO, info) < 0)
		return errno == ENODEV ? -EOPNOTSUPP : errno == ENOSPC ? -EXDEV : -errno;
	for (uint32_t i = 0; i < info->count && i < AFFECTED_MAX; i++) {
		const Bdf other = {
			.segment = info->devices[i].segment,
			.bus = info->devices[i].bus,
			.device = info->devices[i].devfn >> 3,
			.function = info->devices[i].devfn & 7,
		};

		if (!bdf_in(&other, functions, n))
			return -EXDEV;
	}
	return 0;
}

static int reset(const HotReset *h)
{
	_cleanup_free_ struct vfio_pci_hot_reset *request = NULL;
	size_t size = sizeof(*request) + h->n_groups * sizeof(request->group_fds[0]);

	request = xcalloc(1, size);
	request->argsz = (uint32_t)size;
	request->count = (uint32_t)h->n_groups;
	for (size_t i = 0; i < h->n_groups; i++)
		request->group_fds[i] = h->groups[i];
	return ioctl(h->device, VFIO_DEVICE_PCI_HOT_RESET, request) < 0 ? -errno : 0;
}

int vfio_hot_reset(int sysfs_fd, int vfio_fd, const Bdf *functions, size_t n)
{
	_cleanup_(hot_reset_done) HotReset h = { .container = -1, .device = -1 };
	int r;

	if (n == 0)
		return -EINVAL;
	r = open_groups(&h, sysfs_fd, vfio_fd, functions, n);
	if (r >= 0)
		r = open_device(&h, &functions[0]);
	if (r >= 0)
		r = check_affected(&h, functions, n);
	return r >= 0 ? reset(&h) : r;
}
