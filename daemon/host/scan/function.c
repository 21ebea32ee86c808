/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/function.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

#define BASE_CLASS_DISPLAY 0x03

int modalias_parse(const char *text, PciFunction *into)
{
	/* Ids have eight digits here because the kernel keeps PCI_ANY_ID in 32 bits. */
	static const char form[] = "pci:vxxxxxxxxdxxxxxxxxsvxxxxxxxxsdxxxxxxxxbcxxscxxixx";
	unsigned vendor, device, subsystem_vendor, subsystem_device, base, sub, interface;

	if (!str_has_form(text, form) ||
	    sscanf(text, "pci:v%8xd%8xsv%8xsd%8xbc%2xsc%2xi%2x", &vendor, &device,
		   &subsystem_vendor, &subsystem_device, &base, &sub, &interface) != 7 ||
	    (vendor | device | subsystem_vendor | subsystem_device) > UINT16_MAX)
		return -EINVAL;
	into->vendor = (uint16_t)vendor;
	into->device = (uint16_t)device;
	into->subsystem_vendor = (uint16_t)subsystem_vendor;
	into->subsystem_device = (uint16_t)subsystem_device;
	into->class_code = base << 16 | sub << 8 | interface;
	return 0;
}

static bool has_entry(int dir_fd, const char *name)
{
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int read_hex_at(int dir_fd, const char *name, uint32_t max, uint32_t *ret)
{
	char text[SYSFS_TEXT_MAX];
	unsigned long long value;
	int r = sysfs_read_text(dir_fd, name, text);

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

static int read_ids(int device_fd, PciFunction *f)
{
	char modalias[SYSFS_TEXT_MAX];
	int r = sysfs_read_text(device_fd, "modalias", modalias);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r >= 0 && modalias_parse(modalias, f) == 0)
		return 0;
	return read_separate_ids(device_fd, f);
}

int scan_ids(int sysfs_fd, const Bdf *bdf, PciFunction *f)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, NULL);
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(sysfs_fd, path, false, &fd);

	return r < 0 ? r : read_ids(fd, f);
}

/* Nothing is read through it, so that it need not be opened for more than names below it. */
static int open_function(int devices_fd, const Bdf *bdf)
{
	int fd = openat(devices_fd, BDF_TEXT(bdf), O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* "0000:41:00.0/modalias"; `path` has room for it. */
static void attribute_path(const Bdf *bdf, const char *attribute, char *path)
{
	bdf_format(bdf, path);
	memcpy(path + strlen(path), attribute, strlen(attribute) + 1);
}

int function_read_ids(int devices_fd, PciFunction *f)
{
	char path[BDF_TEXT_MAX + sizeof("/modalias")], modalias[SYSFS_TEXT_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	attribute_path(&f->bdf, "/modalias", path);
	r = sysfs_read_text(devices_fd, path, modalias);
	if (r >= 0 && modalias_parse(modalias, f) == 0)
		return 0;
	if (r < 0 && r != -ENOENT)
		return r;
	fd = open_function(devices_fd, &f->bdf);
	return fd < 0 ? fd : read_separate_ids(fd, f);
}

static int read_iommu_group(int dir_fd, const char *path, int *ret)
{
	char name[SYSFS_TEXT_MAX];
	unsigned long long number;
	int r = sysfs_read_link_name(dir_fd, path, name);

	*ret = IOMMU_GROUP_NONE;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (str_to_unsigned(name, 10, INT_MAX, &number) < 0)
		return -EBADMSG;
	*ret = (int)number;
	return 0;
}

int function_read_iommu_group(int devices_fd, const Bdf *bdf, int *ret)
{
	char path[BDF_TEXT_MAX + sizeof("/iommu_group")];

	attribute_path(bdf, "/iommu_group", path);
	return read_iommu_group(devices_fd, path, ret);
}

static int read_driver(int device_fd, char **ret)
{
	char name[SYSFS_TEXT_MAX];
	int r = sysfs_read_link_name(device_fd, "driver", name);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*ret = xstrdup(name);
	return 0;
}

/* The kernel writes -1 for "unknown", which does not parse as an unsigned number. */
static int read_numa_node(int device_fd, int *ret)
{
	char text[SYSFS_TEXT_MAX];
	unsigned long long number;
	int r = sysfs_read_text(device_fd, "numa_node", text);

	*ret = NUMA_NODE_NONE;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (str_to_unsigned(text, 10, INT_MAX, &number) >= 0)
		*ret = (int)number;
	return 0;
}

static int read_boot_vga(int device_fd, bool *ret)
{
	char text[SYSFS_TEXT_MAX];
	int r = sysfs_read_text(device_fd, "boot_vga", text);

	*ret = r >= 0 && strcmp(text, "1") == 0;
	return r == -ENOENT ? 0 : r;
}

static int read_physical(int device_fd, PciFunction *f)
{
	char name[SYSFS_TEXT_MAX];
	int r = sysfs_read_link_name(device_fd, "physfn", name);

	f->virtual_function = r != -ENOENT;
	if (r >= 0 && sysfs_parse_bdf(name, &f->physical) < 0)
		f->physical = (Bdf){ 0 };
	return r == -ENOENT || r == -EINVAL ? 0 : r; /* not a link: whose it is, is not known */
}

/*
 * Reads the ids last. Their files always exist, and when a device goes, the kernel removes them
 * before everything else that is read here (device_del: attributes, then driver, then IOMMU group).
 * So if they are still there, an absent link really meant "none".
 */
static int read_attributes(int device_fd, PciFunction *f)
{
	int r = read_driver(device_fd, &f->driver);

	if (r < 0)
		return r;
	f->vfio_dev = f->driver && has_entry(device_fd, SYSFS_VFIO_DEV);
	r = read_iommu_group(device_fd, "iommu_group", &f->iommu_group);
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
	r = read_ids(device_fd, f);
	if (r < 0)
		return r;
	if (f->class_code >> 16 == BASE_CLASS_DISPLAY)
		return read_boot_vga(device_fd, &f->boot_vga);
	return 0;
}

/* ---- details ---- */

static bool take_number(char **line, unsigned long long *ret)
{
	const char *word = strsep(line, " ");

	return str_to_unsigned(word, 16, ULLONG_MAX, ret) >= 0;
}

/* "0x00000000de000000 0x00000000deffffff 0x0000000000040200": first, last, flags. */
static int parse_bar(char *line, uint64_t *ret)
{
	unsigned long long first, last, flags;

	if (!take_number(&line, &first) || !take_number(&line, &last) ||
	    !take_number(&line, &flags) || line || last < first)
		return -EBADMSG;
	/* Like the kernel's pci_resource_len(): a BAR that ends at 0 is absent. */
	*ret = last == 0 ? 0 : last - first + 1;
	return 0;
}

static int read_bars(int device_fd, PciFunction *f)
{
	char text[SYSFS_TEXT_MAX], *save = NULL, *line;
	int r = sysfs_read_text(device_fd, "resource", text);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	line = strtok_r(text, "\n", &save);
	for (size_t i = 0; i < PCI_BARS && line; i++, line = strtok_r(NULL, "\n", &save)) {
		r = parse_bar(line, &f->bar_size[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* "pci0000:00": a host bridge. Intel VMD puts a second one behind its endpoint. */
static bool is_host_bridge(const char *component)
{
	return str_starts_with(component, "pci") && isxdigit((unsigned char)component[3]);
}

/* ../../../devices/pci0000:00/0000:00:01.0/0000:41:00.0 */
static int read_upstream(int devices_fd, PciFunction *f)
{
	char target[PATH_MAX], *save = NULL;
	ssize_t n;

	n = readlinkat(devices_fd, BDF_TEXT(&f->bdf), target, sizeof(target) - 1);
	if (n < 0)
		return errno == EINVAL ? 0 : -errno; /* not a link, so unknown */
	target[n] = '\0';
	for (char *c = strtok_r(target, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		Bdf bdf;

		if (is_host_bridge(c))
			f->n_upstream = 0;
		if (sysfs_parse_bdf(c, &bdf) < 0 || bdf_equal(&bdf, &f->bdf))
			continue;
		*GROW(f->upstream, f->n_upstream) = bdf;
	}
	return 0;
}

int scan_upstream(int sysfs_fd, PciFunction *f)
{
	_cleanup_close_ int devices_fd = -1;
	int r = dir_open_at(sysfs_fd, SYSFS_PCI_DEVICES, false, &devices_fd);

	return r < 0 ? r : read_upstream(devices_fd, f);
}

/* Older kernels have neither attribute, and some devices refuse: then the value is unknown. */
static int read_if_told(int device_fd, const char *name, char **ret)
{
	char text[SYSFS_TEXT_MAX];
	int r = sysfs_read_text(device_fd, name, text);

	if (r == -ENODEV)
		return r;
	if (r < 0 || *text == '\0')
		return 0;
	*ret = xstrdup(text);
	return 0;
}

static int read_count(int device_fd, const char *name, unsigned *ret)
{
	char text[SYSFS_TEXT_MAX];
	unsigned long long number;
	int r = sysfs_read_text(device_fd, name, text);

	if (r >= 0 && str_to_unsigned(text, 10, UINT16_MAX, &number) >= 0)
		*ret = (unsigned)number;
	return r == -ENODEV ? r : 0;
}

/*
 * A function without the first has none of them. sriov_numvfs is left out: to read it takes the
 * device's lock (drivers/pci/iov.c).
 */
static int read_vfs(int device_fd, PciFunction *f)
{
	int r = read_count(device_fd, "sriov_totalvfs", &f->vfs_max);

	if (r < 0 || f->vfs_max == 0)
		return r;
	r = read_count(device_fd, "sriov_offset", &f->vf_offset);
	if (r >= 0)
		r = read_count(device_fd, "sriov_stride", &f->vf_stride);
	return r < 0 ? r : read_count(device_fd, "sriov_drivers_autoprobe", &f->vf_autoprobe);
}

static int read_details(int devices_fd, int device_fd, PciFunction *f)
{
	int r = read_if_told(device_fd, "reset_method", &f->reset_methods);

	if (r >= 0)
		r = read_if_told(device_fd, "power_state", &f->power_state);
	if (r >= 0)
		r = read_bars(device_fd, f);
	if (r >= 0)
		r = read_vfs(device_fd, f);
	return r < 0 ? r : read_upstream(devices_fd, f);
}

int function_read(int devices_fd, bool details, PciFunction *f)
{
	const Bdf bdf = f->bdf;
	_cleanup_close_ int fd = open_function(devices_fd, &bdf);
	int r;

	if (fd < 0)
		return fd;
	pci_function_clear(f);
	f->bdf = bdf;
	r = read_attributes(fd, f);
	return r >= 0 && details ? read_details(devices_fd, fd, f) : r;
}
