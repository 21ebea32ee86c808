/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A close look at a few functions (core/inspection.h). May wait for the device's lock and for
 * config space, and needs CAP_SYS_PTRACE to see others' files: runs in a worker process.
 */
#pragma once

#include "core/inspection.h"

typedef struct InspectRoots {
	int sysfs_fd;
	int proc_fd;
	int modules_fd; /* /lib/modules/$(uname -r), for modules.dep; -1: unknown */
} InspectRoots;

/*
 * config: whether to read config space, too, through libpci (serial number, PCIe link); of
 * display-class functions only. Without a function there are only the host's facts. -ENOENT when a
 * function is not there. Returns the number of processes that could not be looked into
 * (holders_scan()). libpci ends the process when it fails in a way it did not foresee: worker
 * processes only.
 */
int inspect_functions(const InspectRoots *roots, const Bdf *functions, size_t n,
		      InspectConfig config, Inspection **ret);

/*
 * Processes that hold one of the functions: open files and mappings (/proc/PID/fd, /proc/PID/maps)
 * of /dev/nvidiaN, everything in /dev/dri and /dev/snd of the function, its framebuffer, and
 * /dev/vfio/<IOMMU group> or vfio's own file of the device.
 * Files that belong to no one GPU (nvidiactl, nvidia-uvm, nvidia-modeset) do not count as holding
 * a GPU unless the same process also holds the GPU's own file, which is then what is reported.
 *
 * Returns the number of processes that could not be looked into (no CAP_SYS_PTRACE): a holder
 * among them is missed, so the caller says so. One holder is reported once a file and function.
 */
int holders_scan(const InspectRoots *roots, const Bdf *functions, size_t n, Inspection *into);
