/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/device-files.h"

#include <sys/sysmacros.h>

#include "core/nvme/use.h"
#include "host/scan/nvidia-proc.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

/* The major number of NVIDIA's driver since its beginning (nv.h, NV_MAJOR_DEVICE_NUMBER). */
#define NVIDIA_MAJOR 195
#define PROC_DEVICES_MAX 65536U
/* As in the kernel: 12 and 20 bits (include/linux/kdev_t.h). */
#define MAJOR_MAX 4095
#define MINOR_MAX 1048575

#include "device-files.inc"

/* Takes over `path`. */
static void add_file(DeviceFiles *files, char *path, dev_t number, const Bdf *bdf, bool vfio)
{
	*GROW(files->items, files->n_items) = (DeviceFile){
		.number = number,
		.path = path,
		.bdf = *bdf,
		.vfio = vfio,
	};
}

/* "226:1", as in the attribute dev of every device in sysfs. */
static int parse_number(char *text, dev_t *ret)
{
	char *colon = strchr(text, ':');
	unsigned long long major, minor;

	if (!colon)
		return -EBADMSG;
	*colon = '\0';
	if (str_to_unsigned(text, 10, MAJOR_MAX, &major) < 0 ||
	    str_to_unsigned(colon + 1, 10, MINOR_MAX, &minor) < 0)
		return -EBADMSG;
	*ret = makedev((unsigned)major, (unsigned)minor);
	return 0;
}

/* Adds the device of this directory in sysfs, unless it has no number or has vanished. */
static int add_device(int sysfs_fd, const char *directory, const char *name, const char *dev,
		      const Bdf *bdf, bool vfio, DeviceFiles *files)
{
	_cleanup_free_ char *path = strf("%s/%s/dev", directory, name), *text = NULL;
	dev_t number = 0;
	int r = sysfs_line_if_any(sysfs_fd, path, &text);

	if (r == -ENODEV || r == -ENOTDIR || (r >= 0 && !text))
		return 0;
	if (r >= 0)
		r = parse_number(text, &number);
	if (r < 0)
		return r;
	add_file(files, strf("%s/%s", dev, name), number, bdf, vfio);
	return 0;
}

static int add_block(int sysfs_fd, const char *directory, const char *name, const Bdf *bdf,
		     DeviceFiles *files)
{
	size_t before = files->n_items;
	int r = add_device(sysfs_fd, directory, name, "/dev", bdf, false, files);

	if (files->n_items > before)
		files->items[before].block = true;
	return r;
}

/* Where classes put a function's device files: NAME below `directory` is PREFIX NAME below /dev. */
typedef struct Place {
	const char *directory;
	const char *name_prefix; /* other entries ("power", "id") are not device files */
	const char *dev;
	bool vfio;
} Place;

static const Place places[] = {
	{ "drm", "card", "/dev/dri", false },
	{ "drm", "renderD", "/dev/dri", false },
	{ "drm", "controlD", "/dev/dri", false },
	{ "graphics", "fb", "/dev", false },
	/* Of a NIC: verbs, management datagrams, the subnet manager's, its clock, and all of it. */
	{ "infiniband_verbs", "uverbs", "/dev/infiniband", false },
	{ "infiniband_mad", "umad", "/dev/infiniband", false },
	{ "infiniband_mad", "issm", "/dev/infiniband", false },
	{ "ptp", "ptp", "/dev", false },
	{ "uio", "uio", "/dev", false },
};

/* The other way to a guest's device, past its IOMMU group's file: iommufd (Linux 6.6). */
static const Place vfio_places[] = {
	{ SYSFS_VFIO_DEV, "vfio", "/dev/vfio/devices", true },
	{ SYSFS_VFIO_DEV, "noiommu-vfio", "/dev/vfio/devices", true },
};

/* One folder deeper: in those whose names have this word. */
static const Place sound_places[] = {
	{ NULL, "controlC", "/dev/snd", false }, { NULL, "pcmC", "/dev/snd", false },
	{ NULL, "hwC", "/dev/snd", false },	 { NULL, "midiC", "/dev/snd", false },
	{ NULL, "comprC", "/dev/snd", false },
};
/* Its firmware's calls (Linux 6.15), and its queues, which a process may have in place of a net. */
static const Place fwctl_places[] = { { "fwctl", "fwctl", "/dev/fwctl", false } };
static const Place vdpa_places[] = { { NULL, "vhost-vdpa-", "/dev", false } };

/* The directory's entries; none when it is absent, or vanishes meanwhile. */
static int list_entries(int sysfs_fd, const char *path, char ***ret)
{
	int r = dir_list_at(sysfs_fd, path, "", ret);

	return r == -ENOENT || r == -ENODEV || r == -ENOTDIR ? 0 : r;
}

static int add_place(int sysfs_fd, const char *directory, const Place *place, char *const *names,
		     const Bdf *bdf, DeviceFiles *files)
{
	for (; names && *names; names++) {
		int r;

		if (!str_starts_with(*names, place->name_prefix))
			continue;
		r = add_device(sysfs_fd, directory, *names, place->dev, bdf, place->vfio, files);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the function `of` has, as held for `bdf`. */
static int add_class_files(int sysfs_fd, const Place *from, size_t n, const Bdf *of, const Bdf *bdf,
			   DeviceFiles *files)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *path = sysfs_function_path(of, from[i].directory);
		_cleanup_strv_ char **names = NULL;
		int r;

		r = list_entries(sysfs_fd, path, &names);
		if (r < 0)
			return r;
		r = add_place(sysfs_fd, path, &from[i], names, bdf, files);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * An IOMMU group has one owner, whichever of its functions is opened: by its file, or by a
 * function's own.
 */
static int add_vfio_devices(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "iommu_group/devices");
	_cleanup_strv_ char **names = NULL;
	int r = list_entries(sysfs_fd, path, &names);

	if (r >= 0)
		r = add_class_files(sysfs_fd, vfio_places, ELEMENTS(vfio_places), bdf, bdf, files);
	for (char **name = names; r >= 0 && name && *name; name++) {
		Bdf other;

		if (sysfs_parse_bdf(*name, &other) == 0 && !bdf_equal(&other, bdf))
			r = add_class_files(sysfs_fd, vfio_places, ELEMENTS(vfio_places), &other,
					    bdf, files);
	}
	return r;
}

/* sound/card1/pcmC1D3p, mlx5_core.fwctl.0/fwctl/fwctl0, vdpa0/vhost-vdpa-0 */
static int add_deeper(int sysfs_fd, const char *folder, const char *word, const Place *from,
		      size_t n, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, folder);
	_cleanup_strv_ char **names = NULL;
	int r = list_entries(sysfs_fd, path, &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		for (size_t i = 0; r >= 0 && strstr(*name, word) && i < n; i++) {
			_cleanup_free_ char *of =
				strf("%s%s%s%s%s", str_or_empty(folder), folder ? "/" : "", *name,
				     from[i].directory ? "/" : "", str_or_empty(from[i].directory));
			Place place = from[i];

			place.directory = of;
			r = add_class_files(sysfs_fd, &place, 1, bdf, bdf, files);
		}
	return r;
}

static int add_all_deeper(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	int r = add_deeper(sysfs_fd, "sound", "card", sound_places, ELEMENTS(sound_places), bdf,
			   files);

	if (r >= 0)
		r = add_deeper(sysfs_fd, NULL, ".fwctl.", fwctl_places, ELEMENTS(fwctl_places), bdf,
			       files);
	if (r >= 0)
		r = add_deeper(sysfs_fd, NULL, "vdpa", vdpa_places, ELEMENTS(vdpa_places), bdf,
			       files);
	return r;
}

/* The block device of a namespace, and its partitions. */
static int add_nvme_disk(int sysfs_fd, const char *disk, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *directory = strf("block/%s", disk), *partition = strf("%sp", disk);
	_cleanup_strv_ char **names = NULL;
	int r = list_entries(sysfs_fd, directory, &names);

	if (r >= 0)
		r = add_block(sysfs_fd, "block", disk, bdf, files);
	for (char **name = names; r >= 0 && name && *name; name++)
		if (str_starts_with(*name, partition))
			r = add_block(sysfs_fd, directory, *name, bdf, files);
	return r;
}

/* nvme/nvme0 with the controller's own file, and of each namespace nvme0n1 and ng0n1. */
static int add_nvme_files(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *nvme = sysfs_function_path(bdf, "nvme");
	_cleanup_strv_ char **controllers = NULL;
	int r = list_entries(sysfs_fd, nvme, &controllers);

	for (char **c = controllers; r >= 0 && c && *c; c++) {
		_cleanup_free_ char *path = strf("%s/%s", nvme, *c);
		_cleanup_strv_ char **names = NULL;

		if (!nvme_is_controller(*c))
			continue;
		r = add_device(sysfs_fd, nvme, *c, "/dev", bdf, false, files);
		if (r >= 0)
			r = list_entries(sysfs_fd, path, &names);
		for (char **name = names; r >= 0 && name && *name; name++) {
			_cleanup_free_ char *disk = nvme_disk_name(*name);

			if (disk)
				r = add_nvme_disk(sysfs_fd, disk, bdf, files);
			else if (str_starts_with(*name, "ng"))
				r = add_device(sysfs_fd, path, *name, "/dev", bdf, false, files);
		}
	}
	return r;
}

/* "195 nvidia", "195 nvidia-frontend" until version 550. */
static bool is_nvidia(const char *name)
{
	return strcmp(name, "nvidia") == 0 || strcmp(name, "nvidia-frontend") == 0;
}

static int read_nvidia_major(int proc_fd, unsigned *ret)
{
	_cleanup_free_ char *text = NULL;
	char *save = NULL;
	int r;

	*ret = NVIDIA_MAJOR;
	r = file_read_at(proc_fd, "devices", PROC_DEVICES_MAX, &text, NULL);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *number = str_strip(line), *name = strchr(number, ' ');
		unsigned long long major;

		if (str_starts_with(number, "Block devices"))
			break;
		if (!name || !is_nvidia(name + 1))
			continue;
		*name = '\0';
		if (str_to_unsigned(number, 10, MAJOR_MAX, &major) >= 0)
			*ret = (unsigned)major;
	}
	return 0;
}

static int add_nvidia_file(int proc_fd, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *uuid = NULL;
	unsigned major;
	int minor, r;

	nvidia_proc_read(proc_fd, bdf, &uuid, &minor);
	if (minor < 0)
		return 0;
	r = read_nvidia_major(proc_fd, &major);
	if (r < 0)
		return r;
	add_file(files, strf("/dev/nvidia%d", minor), makedev(major, (unsigned)minor), bdf, false);
	return 0;
}

/*
 * class/vfio/33 exists while a vfio driver has a function of the group; otherwise nobody can have
 * its file open. In noiommu mode its name is noiommu-33.
 */
static int add_iommu_group_file(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	static const char *const prefixes[] = { "", "noiommu-" };
	_cleanup_free_ char *path = sysfs_function_path(bdf, "iommu_group"), *group = NULL;
	size_t before = files->n_items;
	int r = sysfs_link_name_if_any(sysfs_fd, path, &group);

	for (size_t i = 0; r >= 0 && group && i < ELEMENTS(prefixes); i++) {
		_cleanup_free_ char *name = strf("%s%s", prefixes[i], group);

		r = add_device(sysfs_fd, "class/vfio", name, "/dev/vfio", bdf, true, files);
	}
	if (r >= 0 && files->n_items > before)
		files->vfio_major = major(files->items[before].number);
	return r;
}

static int compare_files(const void *a, const void *b)
{
	const DeviceFile *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return bdf_compare(&x->bdf, &y->bdf);
}

int device_files_collect(const Roots *roots, const Bdf *functions, size_t n, DeviceFiles *ret)
{
	_cleanup_(device_files_clear) DeviceFiles files = { 0 };
	int fd = roots->sysfs_fd, r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		const Bdf *bdf = &functions[i];

		r = add_nvidia_file(roots->proc_fd, bdf, &files);
		if (r >= 0)
			r = add_class_files(fd, places, ELEMENTS(places), bdf, bdf, &files);
		if (r >= 0)
			r = add_vfio_devices(fd, bdf, &files);
		if (r >= 0)
			r = add_all_deeper(fd, bdf, &files);
		if (r >= 0)
			r = add_nvme_files(fd, bdf, &files);
		if (r >= 0)
			r = add_iommu_group_file(fd, bdf, &files);
	}
	if (r < 0)
		return r;
	if (files.n_items > 0)
		qsort(files.items, files.n_items, sizeof(DeviceFile), compare_files);
	*ret = files;
	files = (DeviceFiles){ 0 };
	return 0;
}

const DeviceFile *device_files_match(const DeviceFiles *files, dev_t number, size_t *ret_n)
{
	size_t low = 0, high = files->n_items, n = 0;

	while (low < high) { /* the first that is not before it */
		size_t middle = low + (high - low) / 2;

		if (files->items[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < files->n_items && files->items[low + n].number == number)
		n++;
	if (n == 0)
		return NULL;
	*ret_n = n;
	return &files->items[low];
}
