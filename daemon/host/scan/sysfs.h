/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of a PCI function's directory in sysfs that scan, driver and inspect share. */
#pragma once

#include <stdbool.h>

#include "util/bdf.h"

#define SYSFS_PCI_DEVICES "bus/pci/devices"
#define SYSFS_PCI_DRIVERS "bus/pci/drivers"
#define SYSFS_PCI_SLOTS "bus/pci/slots"
#define SYSFS_IOMMU_GROUPS "kernel/iommu_groups"
/* In a function's directory, while its driver has made a device of vfio of it. */
#define SYSFS_VFIO_DEV "vfio-dev"

/*
 * Accepts only the kernel's own form, because a name in sysfs is never abbreviated. Otherwise
 * -EINVAL.
 */
int sysfs_parse_bdf(const char *name, Bdf *ret);

/* "bus/pci/devices/0000:41:00.0/driver"; the directory itself when `attribute` is NULL. */
char *sysfs_function_path(const Bdf *bdf, const char *attribute);

/* An attribute is at most a page. */
#define SYSFS_TEXT_MAX 4096

/*
 * An attribute without the newline at its end, by one read: the kernel makes all of it for the
 * first one.
 */
int sysfs_read_text(int dir_fd, const char *path, char text[SYSFS_TEXT_MAX]);
/* The last component of a link's target. -EINVAL: it is no link. */
int sysfs_read_link_name(int dir_fd, const char *path, char name[SYSFS_TEXT_MAX]);

/*
 * Calls `each` for the names in a directory, but not for those that begin with a dot, until it does
 * not return 0, and returns that, or -errno. An entry costs what its bytes cost: no allocation, and
 * with `few` the kernel is asked for a few at a time, for who looks at the first ones only.
 */
int sysfs_each_name(int dir_fd, const char *path, bool few,
		    int (*each)(const char *name, void *userdata), void *userdata);

/* Whether the function exists. */
bool sysfs_has_function(int sysfs_fd, const Bdf *bdf);

/* Like their namesakes in util/file.h, but an absent entry is not an error: NULL and 0. */
int sysfs_line_if_any(int dir_fd, const char *path, char **ret);
int sysfs_link_name_if_any(int dir_fd, const char *path, char **ret);
/* The same of an attribute of a function. */
int sysfs_read_attribute(int sysfs_fd, const Bdf *bdf, const char *attribute, char **ret);

/* Name of the bound driver, NULL when none is. -ENOENT when the function is not there. */
int sysfs_read_driver(int sysfs_fd, const Bdf *bdf, char **ret);
/* It is a virtual function. */
bool sysfs_is_vf(int sysfs_fd, const Bdf *bdf);
bool sysfs_has_vfio_dev(int sysfs_fd, const Bdf *bdf);
/* Whether that driver, which it has now, is one of vfio: driver_on_vfio(). */
bool sysfs_on_vfio(int sysfs_fd, const Bdf *bdf, const char *driver);

/*
 * NULL when none is set ("(null)"), or when the kernel has no such attribute (before 3.16).
 * Waits for the device's lock on kernels up to 6.1: not for scans.
 */
int sysfs_read_override(int sysfs_fd, const Bdf *bdf, char **ret);
