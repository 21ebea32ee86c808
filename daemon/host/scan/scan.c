/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/scan.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "host/scan/detail.h"
#include "host/scan/mdev.h"
#include "host/scan/modalias.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"

#define BASE_CLASS_DISPLAY 0x03

static bool has_entry(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_hex_at(int dir_fd, const char *name, uint32_t max, uint32_t *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long value;
	int r;

	r = file_read_line_at(dir_fd, name, &text);
	if (r < 0)
		return r;
	if (str_to_unsigned(text, 16, max, &value) < 0)
		return -EBADMSG;
	*ret = (uint32_t)value;
	return 0;
}

/* One file for each id: used when a kernel gives no modalias, or one in a new form. */
static int read_separate_ids(int device_fd, PciFunction *f)
{
	const struct {
		const char *name;
		uint16_t *ret;
	} ids[] = {
		{ "vendor", &f->vendor },
		{ "device", &f->device },
		{ "subsystem_vendor", &f->subsystem_vendor },
		{ "subsystem_device", &f->subsystem_device },
	};

	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		uint32_t value;
		int r = read_hex_at(device_fd, ids[i].name, UINT16_MAX, &value);

		if (r < 0)
			return r;
		*ids[i].ret = (uint16_t)value;
	}
	return read_hex_at(device_fd, "class", 0xffffff, &f->class_code);
}

int scan_ids(int device_fd, PciFunction *f)
{
	_cleanup_free_ char *modalias = NULL;
	int r;

	r = sysfs_line_if_any(device_fd, "modalias", &modalias);
	if (r < 0)
		return r;
	if (modalias && modalias_parse(modalias, f) == 0)
		return 0;
	return read_separate_ids(device_fd, f);
}

static int read_iommu_group(int device_fd, int *ret)
{
	_cleanup_free_ char *name = NULL;
	unsigned long long number;
	int r;

	r = sysfs_link_name_if_any(device_fd, "iommu_group", &name);
	if (r < 0)
		return r;
	if (!name) {
		*ret = IOMMU_GROUP_NONE;
		return 0;
	}
	if (str_to_unsigned(name, 10, INT_MAX, &number) < 0)
		return -EBADMSG;
	*ret = (int)number;
	return 0;
}

/* The kernel writes -1 for "unknown", which does not parse as an unsigned number. */
static int read_numa_node(int device_fd, int *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long number;
	int r;

	r = sysfs_line_if_any(device_fd, "numa_node", &text);
	if (r < 0)
		return r;
	*ret = str_to_unsigned(text, 10, INT_MAX, &number) < 0 ? NUMA_NODE_NONE : (int)number;
	return 0;
}

static int read_boot_vga(int device_fd, bool *ret)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = sysfs_line_if_any(device_fd, "boot_vga", &text);
	if (r < 0)
		return r;
	*ret = str_equal(text, "1");
	return 0;
}

static int read_physical(int device_fd, PciFunction *f)
{
	_cleanup_free_ char *name = NULL;
	int r;

	f->virtual_function = has_entry(device_fd, "physfn");
	if (!f->virtual_function)
		return 0;
	r = sysfs_link_name_if_any(device_fd, "physfn", &name);
	if (r >= 0 && name && sysfs_parse_bdf(name, &f->physical) < 0)
		f->physical = (Bdf){ 0 };
	return r == -EINVAL ? 0 : r; /* not a link: whose it is, is not known */
}

/*
 * Reads the ids last. Their files always exist, and when a device goes, the kernel removes them
 * before everything else that is read here (device_del: attributes, then driver, then IOMMU group).
 * So if they are still there, an absent link really meant "none".
 */
static int read_function(int device_fd, PciFunction *f)
{
	int r;

	r = sysfs_link_name_if_any(device_fd, "driver", &f->driver);
	if (r < 0)
		return r;
	r = read_iommu_group(device_fd, &f->iommu_group);
	if (r < 0)
		return r;
	r = read_numa_node(device_fd, &f->numa_node);
	if (r < 0)
		return r;
	f->bridge = has_entry(device_fd, "pci_bus");
	r = read_physical(device_fd, f);
	if (r < 0)
		return r;
	f->has_vfs = has_entry(device_fd, "virtfn0");
	r = scan_ids(device_fd, f);
	if (r < 0)
		return r;
	if (f->class_code >> 16 == BASE_CLASS_DISPLAY)
		return read_boot_vga(device_fd, &f->boot_vga);
	return 0;
}

static int append_function(PciSnapshot *snapshot, size_t *capacity, const PciFunction *f)
{
	if (snapshot->n_functions == *capacity) {
		size_t bigger = *capacity ? *capacity * 2 : 64;
		PciFunction *p;

		p = reallocarray(snapshot->functions, bigger, sizeof(PciFunction));
		if (!p)
			return -ENOMEM;
		snapshot->functions = p;
		*capacity = bigger;
	}
	snapshot->functions[snapshot->n_functions++] = *f;
	return 0;
}

static int add_function(int devices_fd, const Bdf *bdf, const char *name, PciSnapshot *snapshot,
			size_t *capacity)
{
	_cleanup_(pci_function_clear) PciFunction f = { .bdf = *bdf };
	_cleanup_close_ int fd = openat(devices_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	r = fd < 0 ? -errno : read_function(fd, &f);
	if (r == -ENOENT || r == -ENODEV)
		return 0; /* it vanished */
	if (r < 0)
		return r;
	r = append_function(snapshot, capacity, &f);
	if (r < 0)
		return r;
	f = (PciFunction){ 0 }; /* now the snapshot's */
	return 0;
}

/* NULL with errno set, as opendir(). */
static DIR *open_stream(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		close_fd(fd);
	return dir;
}

static int read_functions(int devices_fd, PciSnapshot *snapshot)
{
	_cleanup_closedir_ DIR *dir = open_stream(devices_fd);
	size_t capacity = 0;
	int r;

	if (!dir)
		return -errno;
	for (;;) {
		struct dirent *entry;
		Bdf bdf;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return -errno; /* 0 at the end */
		if (sysfs_parse_bdf(entry->d_name, &bdf) < 0)
			continue;
		r = add_function(devices_fd, &bdf, entry->d_name, snapshot, &capacity);
		if (r < 0)
			return r;
	}
}

/* When the IOMMU is off, the directory exists and is empty. */
static int read_iommu(int sysfs_fd, bool *ret)
{
	_cleanup_strv_ char **groups = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	r = dir_open_at(sysfs_fd, SYSFS_IOMMU_GROUPS, false, &fd);
	if (r == -ENOENT) {
		*ret = false;
		return 0;
	}
	if (r < 0)
		return r;
	r = dir_list(fd, "", &groups);
	if (r < 0)
		return r;
	*ret = strv_length(groups) > 0;
	return 0;
}

static uint64_t now_realtime_usec(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000U + (uint64_t)t.tv_nsec / 1000U;
}

int scan_pci(int sysfs_fd, PciSnapshot **ret)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_close_ int devices_fd = -1;
	int r;

	r = dir_open_at(sysfs_fd, SYSFS_PCI_DEVICES, false, &devices_fd);
	if (r < 0)
		return r;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return -ENOMEM;
	snapshot->taken_usec = now_realtime_usec();
	r = read_functions(devices_fd, snapshot);
	if (r < 0)
		return r;
	r = pci_snapshot_seal(snapshot);
	if (r < 0)
		return r;
	r = scan_details(sysfs_fd, devices_fd, snapshot);
	if (r < 0)
		return r;
	r = scan_mdevs(sysfs_fd, snapshot);
	if (r < 0)
		return r;
	r = read_iommu(sysfs_fd, &snapshot->iommu);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(snapshot);
	return 0;
}
