// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stand-in for nvidia_drm on nvidia-modeset: with modeset=1 it has every GPU in use that is on
 * nvidia when it is loaded, without an open file, until it is unloaded.
 */
#include <linux/module.h>

#include "labpci.h"

static bool modeset;
module_param(modeset, bool, 0400); /* as the real one: for root to read */
MODULE_PARM_DESC(modeset, "keep the GPUs in use");

static int __init nvidia_drm_init(void)
{
	if (modeset)
		lab_modeset_take();
	return 0;
}
module_init(nvidia_drm_init);

static void __exit nvidia_drm_exit(void)
{
	if (modeset)
		lab_modeset_release();
}
module_exit(nvidia_drm_exit);

MODULE_DESCRIPTION("gpupass lab: a stand-in for nvidia_drm");
MODULE_LICENSE("GPL");
