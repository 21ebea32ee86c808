/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes have a function open. */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/roots.h"

/*
 * Finds the processes that hold one of the functions. They have open or mapped: /dev/nvidiaN, any
 * file in /dev/dri and /dev/snd of the function, its framebuffer, /dev/vfio/<IOMMU group>, or
 * vfio's own file of the device. A file is recognised by its device number (device-files.h), under
 * any name and in every mount name space. Files that belong to no one GPU (nvidiactl, nvidia-uvm,
 * nvidia-modeset) do not count.
 *
 * Processes that could not be looked at are in into->unseen. They are no reason to refuse, because
 * any user can have such a process; the caller reports them. A holder is reported once for each
 * file and function. Takes 12 s at most, whatever other users' processes do. Forks, so the calling
 * process must have one thread.
 */
int holders_scan(const Roots *roots, const Bdf *functions, size_t n, Inspection *into);
