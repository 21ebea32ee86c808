/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The device files through which a process can hold a PCI function. */
#pragma once

#include "host/inspect.h"

typedef struct DeviceFile {
	char *path; /* "/dev/nvidia0" */
	Bdf bdf;
	bool vfio; /* a guest's: the IOMMU group's file, or vfio's own for the device */
} DeviceFile;

typedef struct DeviceFiles {
	DeviceFile *items; /* by path; functions of one IOMMU group share one */
	size_t n_items;
} DeviceFiles;

int device_files_collect(const InspectRoots *roots, const Bdf *functions, size_t n,
			 DeviceFiles *ret);

/*
 * The files that an open file's name stands for: *ret_n equal ones in a row, NULL when it is none.
 * The name is a link target from /proc/PID/fd or a path from /proc/PID/maps, cut in place: it may
 * end in " (deleted)", and begin with a chroot's directory.
 */
const DeviceFile *device_files_match(const DeviceFiles *files, char *name, size_t *ret_n);

void device_files_clear(DeviceFiles *files);
