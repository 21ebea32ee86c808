/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device files through which a process can hold a PCI function, by their numbers. A number is
 * the same in every mount name space and under every name, and only root can make a file with it.
 * Anybody can choose a path.
 */
#pragma once

#include <sys/types.h>

#include "gpupass/cleanup.h"
#include "host/device/roots.h"
#include "util/bdf.h"

typedef struct DeviceFile {
	dev_t number;
	char *path; /* "/dev/nvidia0": where udev puts it; for messages only */
	Bdf bdf;
	bool vfio;  /* a guest's: the IOMMU group's file, or vfio's own for the device */
	bool block; /* numbers of block devices are their own */
} DeviceFile;

typedef struct DeviceFiles {
	DeviceFile *items; /* by number; functions of one IOMMU group share one */
	size_t n_items;
	/*
	 * Major number of the groups' files, if a vfio driver has one of these functions; otherwise
	 * 0.
	 */
	unsigned vfio_major;
} DeviceFiles;
DECLARE_CLEAR(DeviceFiles, device_files_clear)

/*
 * Takes the numbers from sysfs and /proc/devices. Leaves out files that the kernel has no device
 * for.
 */
int device_files_collect(const Roots *roots, const Bdf *functions, size_t n, DeviceFiles *ret);

/* The files of this number, *ret_n in a row, of both kinds; NULL when there are none. */
const DeviceFile *device_files_match(const DeviceFiles *files, dev_t number, size_t *ret_n);
