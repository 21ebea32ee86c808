/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts for `doctor` and for the health of GPUs. For worker processes, because config space and
 * /proc may make a reader wait. Writes nothing, and wakes no sleeping device.
 */
#pragma once

#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "host/device/roots.h"

/* The most bytes of a file of settings. */
#define EXAMINE_FILE_MAX 65536

/*
 * Part of examine_setup(): which modules the host loads at boot, and which its initramfs is to
 * have.
 */
void examine_module_lists(int root_fd, Examination *e);

/*
 * The host's setup, without what cannot be read, and without the initramfs (host/image).
 */
Examination *examine_setup(const Roots *roots);

/* Of that: libvirt's hooks, ours and others'. After the process that starts guests is known. */
void examine_hook(int root_fd, Examination *e);

/*
 * One GPU, given by its leading function, and the ports above it, root port first. -ENOENT when it
 * is not there. Reads config space only of devices in D0: the read resumes the bridges above and a
 * device in D3cold (pci_config_pm_runtime_get(), drivers/pci/pci-sysfs.c), and waits for a reset.
 * current_link_speed and similar attributes of sysfs also read config space, and do not even resume
 * the device first.
 */
int examine_gpu(const Roots *roots, const Bdf *gpu, const Bdf *ports, size_t n_ports,
		GpuHealth *ret);
