/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device-files.h"

#include <errno.h>
#include <string.h>

#include "host/nvidia-proc.h"
#include "host/sysfs.h"
#include "util/file.h"
#include "util/text.h"

/* Takes over `path`; NULL is a failed allocation. */
static int add_file(DeviceFiles *files, char *path, const Bdf *bdf, bool vfio)
{
	_cleanup_free_ char *owned = path;
	DeviceFile *p;

	if (!owned)
		return -ENOMEM;
	p = reallocarray(files->items, files->n_items + 1, sizeof(DeviceFile));
	if (!p)
		return -ENOMEM;
	files->items = p;
	files->items[files->n_items++] =
		(DeviceFile){ .path = TAKE_PTR(owned), .bdf = *bdf, .vfio = vfio };
	return 0;
}

/* Where classes put a function's device files: NAME below `directory` is PREFIX NAME below /dev. */
typedef struct Place {
	const char *directory;
	const char *name_prefix; /* other entries ("power", "id") are no device files */
	const char *dev;
	bool vfio;
} Place;

static const Place places[] = {
	{ "drm", "card", "/dev/dri", false },
	{ "drm", "renderD", "/dev/dri", false },
	{ "drm", "controlD", "/dev/dri", false },
	{ "graphics", "fb", "/dev", false },
	{ "vfio-dev", "vfio", "/dev/vfio/devices", true },
};

static const Place sound_places[] = {
	{ NULL, "controlC", "/dev/snd", false }, { NULL, "pcmC", "/dev/snd", false },
	{ NULL, "hwC", "/dev/snd", false },	 { NULL, "midiC", "/dev/snd", false },
	{ NULL, "comprC", "/dev/snd", false },
};

/* The directory's entries; none when it is absent, or goes while we look. */
static int list_entries(int sysfs_fd, const char *path, char ***ret)
{
	_cleanup_close_ int fd = -1;
	int r;

	r = dir_open_at(sysfs_fd, path, false, &fd);
	if (r >= 0)
		r = dir_list(fd, "", ret);
	return r == -ENOENT || r == -ENODEV || r == -ENOTDIR ? 0 : r;
}

static int add_place(DeviceFiles *files, const Place *place, char *const *names, const Bdf *bdf)
{
	for (; names && *names; names++) {
		int r;

		if (!str_starts_with(*names, place->name_prefix))
			continue;
		r = add_file(files, strf("%s/%s", place->dev, *names), bdf, place->vfio);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_class_files(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	for (size_t i = 0; i < ELEMENTS(places); i++) {
		_cleanup_free_ char *path = sysfs_function_path(bdf, places[i].directory);
		_cleanup_strv_ char **names = NULL;
		int r;

		if (!path)
			return -ENOMEM;
		r = list_entries(sysfs_fd, path, &names);
		if (r < 0)
			return r;
		r = add_place(files, &places[i], names, bdf);
		if (r < 0)
			return r;
	}
	return 0;
}

/* sound/card1/pcmC1D3p: one level deeper. */
static int add_sound_files(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *sound = sysfs_function_path(bdf, "sound");
	_cleanup_strv_ char **cards = NULL;
	int r;

	if (!sound)
		return -ENOMEM;
	r = list_entries(sysfs_fd, sound, &cards);
	if (r < 0)
		return r;
	for (char **card = cards; card && *card; card++) {
		_cleanup_free_ char *path = strf("%s/%s", sound, *card);
		_cleanup_strv_ char **names = NULL;

		if (!path)
			return -ENOMEM;
		r = list_entries(sysfs_fd, path, &names);
		for (size_t i = 0; r >= 0 && i < ELEMENTS(sound_places); i++)
			r = add_place(files, &sound_places[i], names, bdf);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_nvidia_file(int proc_fd, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *uuid = NULL;
	int minor, r;

	r = nvidia_proc_read(proc_fd, bdf, &uuid, &minor);
	if (r < 0 || minor < 0)
		return r;
	return add_file(files, strf("/dev/nvidia%d", minor), bdf, false);
}

/* In noiommu mode the file is /dev/vfio/noiommu-N. */
static int add_iommu_group_file(int sysfs_fd, const Bdf *bdf, DeviceFiles *files)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "iommu_group"), *group = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = sysfs_link_name_if_any(sysfs_fd, path, &group);
	if (r < 0 || !group)
		return r;
	r = add_file(files, strf("/dev/vfio/%s", group), bdf, true);
	if (r < 0)
		return r;
	return add_file(files, strf("/dev/vfio/noiommu-%s", group), bdf, true);
}

static int compare_files(const void *a, const void *b)
{
	const DeviceFile *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c != 0 ? c : bdf_compare(&x->bdf, &y->bdf);
}

int device_files_collect(const InspectRoots *roots, const Bdf *functions, size_t n,
			 DeviceFiles *ret)
{
	_cleanup_(device_files_clear) DeviceFiles files = { 0 };

	for (size_t i = 0; i < n; i++) {
		int r;

		r = add_nvidia_file(roots->proc_fd, &functions[i], &files);
		if (r < 0)
			return r;
		r = add_class_files(roots->sysfs_fd, &functions[i], &files);
		if (r < 0)
			return r;
		r = add_sound_files(roots->sysfs_fd, &functions[i], &files);
		if (r < 0)
			return r;
		r = add_iommu_group_file(roots->sysfs_fd, &functions[i], &files);
		if (r < 0)
			return r;
	}
	if (files.n_items > 0)
		qsort(files.items, files.n_items, sizeof(DeviceFile), compare_files);
	*ret = files;
	files = (DeviceFiles){ 0 };
	return 0;
}

/* The name as seen from the root of the process: from its last "/dev/" on. */
static char *device_name(char *name)
{
	static const char deleted[] = " (deleted)";
	char *found = NULL;
	size_t n = strlen(name);

	if (n > strlen(deleted) && strcmp(name + n - strlen(deleted), deleted) == 0)
		name[n - strlen(deleted)] = '\0';
	for (char *p = strstr(name, "/dev/"); p; p = strstr(p + 1, "/dev/"))
		found = p;
	return found;
}

const DeviceFile *device_files_match(const DeviceFiles *files, char *name, size_t *ret_n)
{
	const char *path = device_name(name);
	size_t low = 0, high = files->n_items, n = 0;

	if (!path)
		return NULL;
	while (low < high) { /* the first that is not before it */
		size_t middle = low + (high - low) / 2;

		if (strcmp(files->items[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < files->n_items && strcmp(files->items[low + n].path, path) == 0)
		n++;
	if (n == 0)
		return NULL;
	*ret_n = n;
	return &files->items[low];
}

void device_files_clear(DeviceFiles *files)
{
	for (size_t i = 0; i < files->n_items; i++)
		free(files->items[i].path);
	free(files->items);
	*files = (DeviceFiles){ 0 };
}
