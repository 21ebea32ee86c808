/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/sysfs.h"

#include <fcntl.h>

#include "core/pci/driver-name.h"
#include "util/file.h"
#include "util/text.h"

int sysfs_parse_bdf(const char *name, Bdf *ret)
{
	Bdf bdf;

	if (bdf_parse(name, &bdf) < 0 || strcmp(name, BDF_TEXT(&bdf)) != 0)
		return -EINVAL;
	*ret = bdf;
	return 0;
}

int sysfs_read_text(int dir_fd, const char *path, char text[SYSFS_TEXT_MAX])
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, text, SYSFS_TEXT_MAX - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return 0;
}

int sysfs_read_link_name(int dir_fd, const char *path, char name[SYSFS_TEXT_MAX])
{
	ssize_t n = readlinkat(dir_fd, path, name, SYSFS_TEXT_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	name[n] = '\0';
	slash = strrchr(name, '/');
	if (slash)
		memmove(name, slash + 1, strlen(slash + 1) + 1);
	return 0;
}

int sysfs_each_name(int dir_fd, const char *path, bool few,
		    int (*each)(const char *name, void *userdata), void *userdata)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_Alignas(struct dirent64) char entries[32768];
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	while ((n = getdents64(fd, entries, few ? 512 : sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			r = entry->d_name[0] == '.' ? 0 : each(entry->d_name, userdata);
			if (r != 0)
				return r;
		}
	return n < 0 ? -errno : 0;
}

char *sysfs_function_path(const Bdf *bdf, const char *attribute)
{
	return strf(SYSFS_PCI_DEVICES "/%s%s%s", BDF_TEXT(bdf), attribute ? "/" : "",
		    str_or_empty(attribute));
}

bool sysfs_has_function(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, NULL);

	return faccessat(sysfs_fd, path, F_OK, 0) == 0;
}

int sysfs_line_if_any(int dir_fd, const char *path, char **ret)
{
	int r = file_read_line_at(dir_fd, path, ret);

	if (r != -ENOENT)
		return r;
	*ret = NULL;
	return 0;
}

int sysfs_read_attribute(int sysfs_fd, const Bdf *bdf, const char *attribute, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, attribute);

	return sysfs_line_if_any(sysfs_fd, path, ret);
}

int sysfs_link_name_if_any(int dir_fd, const char *path, char **ret)
{
	int r = file_link_name_at(dir_fd, path, ret);

	if (r != -ENOENT)
		return r;
	*ret = NULL;
	return 0;
}

int sysfs_read_driver(int sysfs_fd, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "driver");
	_cleanup_free_ char *driver = NULL;
	int r = sysfs_link_name_if_any(sysfs_fd, path, &driver);

	if (r < 0)
		return r;
	/* The link is absent if there is no driver, and also if there is no device. */
	if (!driver && !sysfs_has_function(sysfs_fd, bdf))
		return -ENOENT;
	*ret = TAKE_PTR(driver);
	return 0;
}

bool sysfs_is_vf(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "physfn");

	return faccessat(sysfs_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool sysfs_has_vfio_dev(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, SYSFS_VFIO_DEV);

	return faccessat(sysfs_fd, path, F_OK, 0) == 0;
}

bool sysfs_on_vfio(int sysfs_fd, const Bdf *bdf, const char *driver)
{
	return driver_on_vfio(driver, sysfs_has_vfio_dev(sysfs_fd, bdf));
}

int sysfs_read_override(int sysfs_fd, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *override = NULL;
	int r = sysfs_read_attribute(sysfs_fd, bdf, "driver_override", &override);

	if (r < 0)
		return r;
	/* The kernel prints a NULL pointer with %s. */
	if (override && *override && strcmp(override, "(null)") != 0)
		*ret = TAKE_PTR(override);
	else
		*ret = NULL;
	return 0;
}
