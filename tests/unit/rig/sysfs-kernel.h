/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's side of driver binding, on a tree of plain files (sysfs-tree.h,
 * tests/bus/make-host): what becomes of driver links and driver_override when one of the
 * attributes is written. Drivers are the directories in bus/pci/drivers; besides an override's,
 * the natural driver of a function (nvidia, snd_hda_intel, xhci_hcd) takes it. Faults are injected
 * by the fields.
 */
#pragma once

#include "host/device/driver.h"

typedef struct SysfsKernel {
	/* Faults; each counts down to 0, which is "none". */
	unsigned deaf_probes;	  /* probes that report success and bind nothing */
	unsigned deferred_probes; /* probes and binds that give -EAGAIN */
	unsigned busy_probes;	  /* -EBUSY, and no driver: vfio's user still has the IOMMU group */
	unsigned stolen_unbinds;  /* unbinds after which the old driver has the device again */
	unsigned stolen_probes;	  /* probes that somebody else's driver wins: `thief` */
	const char *thief;
	const char *failing_path; /* writes to paths that end so give failing_error */
	int failing_error;
	const char *gpus_dir; /* of unbindLock, where it is a vGPU host's; NULL: it is none */
	unsigned gpu_users;   /* that the nvidia driver counts: unbindLock does not take */
	/* Called when an unbind has taken the driver link away and before it returns. NULL: not */
	void (*while_unbinding)(void *userdata);
	/* Called when `reset` is written, and when somebody waits. NULL: not */
	int (*while_resetting)(void *userdata);
	void (*while_waiting)(void *userdata);
	void *userdata;
	/* What was asked of it. */
	char **writes;	 /* "driver_override vfio-pci" */
	unsigned waited; /* milliseconds */
} SysfsKernel;

/* For driver_move_with(). */
DriverOps sysfs_kernel_ops(SysfsKernel *kernel);
void sysfs_kernel_clear(SysfsKernel *kernel);
