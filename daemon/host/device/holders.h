/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has a function open. */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/roots.h"

/*
 * Processes that hold one of the functions: open files and mappings of /dev/nvidiaN, everything in
 * /dev/dri and /dev/snd of the function, its framebuffer, and /dev/vfio/<IOMMU group> or vfio's own
 * file of the device; each by its number (device-files.h), under whatever name and in every mount name
 * space.
 * Files that belong to no one GPU (nvidiactl, nvidia-uvm, nvidia-modeset) do not count as holding
 * a GPU unless the same process also holds the GPU's own file, which is then what is reported.
 *
 * Of what could not be looked at, into->unseen tells: it refuses nothing, since anybody can be such a
 * process, and the caller says so. One holder is reported once a file and function. It takes 12 s at
 * most, however the others' processes are made. Forks: for processes with one thread.
 */
int holders_scan(const InspectRoots *roots, const Bdf *functions, size_t n, Inspection *into);
