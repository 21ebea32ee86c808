/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"

int sysfs_parse_bdf(const char *name, Bdf *ret)
{
	Bdf bdf;
	int r = bdf_parse(name, &bdf);

	if (r < 0)
		return r;
	if (strcmp(name, BDF_TEXT(&bdf)) != 0)
		return -EINVAL;
	*ret = bdf;
	return 0;
}

char *sysfs_function_path(const Bdf *bdf, const char *attribute)
{
	return strf(SYSFS_PCI_DEVICES "/%s%s%s", BDF_TEXT(bdf), attribute ? "/" : "",
		    str_or_empty(attribute));
}

bool sysfs_has_function(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, NULL);

	return path && faccessat(sysfs_fd, path, F_OK, 0) == 0;
}

int sysfs_line_if_any(int dir_fd, const char *path, char **ret)
{
	int r = file_read_line_at(dir_fd, path, ret);

	if (r != -ENOENT)
		return r;
	*ret = NULL;
	return 0;
}

int sysfs_link_name_if_any(int dir_fd, const char *path, char **ret)
{
	int r = file_link_name_at(dir_fd, path, ret);

	if (r != -ENOENT)
		return r;
	*ret = NULL;
	return 0;
}

int sysfs_read_id(int sysfs_fd, const Bdf *bdf, const char *attribute, uint16_t *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, attribute), *text = NULL;
	unsigned long long id;
	int r = path ? sysfs_line_if_any(sysfs_fd, path, &text) : -ENOMEM;

	if (r < 0)
		return r;
	if (!text || str_to_unsigned(text, 16, UINT16_MAX, &id) < 0)
		return -ENODATA;
	*ret = (uint16_t)id;
	return 0;
}

int sysfs_read_driver(int sysfs_fd, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "driver");
	_cleanup_free_ char *driver = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = sysfs_link_name_if_any(sysfs_fd, path, &driver);
	if (r < 0)
		return r;
	/* The link is absent if there is no driver, and also if there is no device. */
	if (!driver && !sysfs_has_function(sysfs_fd, bdf))
		return -ENOENT;
	*ret = TAKE_PTR(driver);
	return 0;
}

int sysfs_read_override(int sysfs_fd, const Bdf *bdf, char **ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "driver_override");
	_cleanup_free_ char *override = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = sysfs_line_if_any(sysfs_fd, path, &override);
	if (r < 0)
		return r;
	/* The kernel prints a NULL pointer with %s. */
	if (override && *override && strcmp(override, "(null)") != 0)
		*ret = TAKE_PTR(override);
	else
		*ret = NULL;
	return 0;
}
