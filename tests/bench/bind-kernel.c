/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel that gpupass-bind meets on a host of plain files. The linker puts it in the place of
 * driver_real_ops() (--wrap) in a gpupass-bind that is the installed one otherwise.
 */
#include "rig/sysfs-kernel.h"

const DriverOps *__wrap_driver_real_ops(void);

const DriverOps *__wrap_driver_real_ops(void)
{
	static SysfsKernel kernel;
	static DriverOps ops;

	ops = sysfs_kernel_ops(&kernel);
	return &ops;
}
