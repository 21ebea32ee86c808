/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/vfio-facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "host/scan/sysfs.h"
#include "util/text.h"

/* "Y\n" and "N\n" for a bool parameter; absent when the module is not loaded. */
static int read_parameter(int sysfs_fd, const char *path, bool *ret)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = sysfs_line_if_any(sysfs_fd, path, &text);
	if (r < 0)
		return r;
	*ret = str_equal(text, "Y") || str_equal(text, "1");
	return 0;
}

/*
 * Whether a line of modules.dep or modules.builtin ("kernel/drivers/vfio/pci/vfio-pci.ko.xz: …") is
 * about the module vfio_pci. Distributions differ in compression, and in dash or underscore.
 */
static bool line_is_vfio_pci(char *line)
{
	char *end = strpbrk(line, ": \n"), *name;

	if (end)
		*end = '\0';
	name = strrchr(line, '/');
	name = name ? name + 1 : line;
	return str_starts_with(name, "vfio-pci.ko") || str_starts_with(name, "vfio_pci.ko");
}

/* Read line by line: modules.dep is about a megabyte. */
static int list_has_vfio_pci(int modules_fd, const char *name, bool *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	int fd;

	fd = openat(modules_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	f = fdopen(fd, "re");
	if (!f) {
		close_fd(fd);
		return -errno;
	}
	while (!*ret && getline(&line, &capacity, f) >= 0)
		*ret = line_is_vfio_pci(line);
	return 0;
}

int vfio_facts_read(const InspectRoots *roots, Inspection *into)
{
	int r;

	into->vfio_pci = faccessat(roots->sysfs_fd, SYSFS_PCI_DRIVERS "/vfio-pci", F_OK, 0) == 0;
	into->vfio_loadable = false;
	if (!into->vfio_pci && roots->modules_fd >= 0) {
		r = list_has_vfio_pci(roots->modules_fd, "modules.dep", &into->vfio_loadable);
		if (r < 0)
			return r;
		r = list_has_vfio_pci(roots->modules_fd, "modules.builtin", &into->vfio_loadable);
		if (r < 0)
			return r;
	}
	r = read_parameter(roots->sysfs_fd, "module/vfio/parameters/enable_unsafe_noiommu_mode",
			   &into->noiommu);
	if (r < 0)
		return r;
	return read_parameter(roots->sysfs_fd,
			      "module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
			      &into->unsafe_interrupts);
}
