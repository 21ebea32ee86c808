/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `doctor` and the health of GPUs are made from. For worker processes: config space and
 * /proc may make a reader wait. Nothing is written, and no sleeping device is woken.
 */
#pragma once

#include "core/facts/examination.h"
#include "core/facts/health.h"

typedef struct ExamineRoots {
	int sysfs_fd;
	int proc_fd;
	int root_fd; /* "/": for etc, run, usr */
} ExamineRoots;

/*
 * The host's setup. What cannot be read is left out of it; fails with -ENOMEM only. `known_image`: as
 * of initramfs_image_read().
 */
int examine_host(const ExamineRoots *roots, const char *known_image, Examination **ret);

/*
 * One GPU by its leading function, and the ports above it, root port first. -ENOENT when it is not
 * there. Config space is read only of what is in D0: reading it resumes the bridges above and a
 * device in D3cold (pci_config_pm_runtime_get(), drivers/pci/pci-sysfs.c), and waits for a reset.
 * current_link_speed and its like in sysfs read config space as well, without even that care.
 */
int examine_gpu(const ExamineRoots *roots, const Bdf *gpu, const Bdf *ports, size_t n_ports,
		GpuHealth *ret);
