/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which device files one process has open or mapped. Goes by no name that a user can choose, and
 * asks no user's server that could make us wait. One exception: the lock of the process's memory,
 * which a user who serves the process a file by FUSE can hold for ever. So it runs in a process
 * that can be killed (holders.c).
 */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/device-files.h"

typedef struct ProcessLook {
	const DeviceFiles *files;
	/*
	 * Called for each file that the process has: an index of files->items. -errno ends the
	 * look.
	 */
	int (*found)(size_t file, void *userdata);
	void *userdata;
	bool real_proc; /* the kernel's own /proc, whose thread ids are valid in system calls */
} ProcessLook;

/*
 * 0: everything was seen, or the process is gone. 1: not everything, with the reason in
 * *ret_reason. -EMFILE or -ENFILE: we could not look. process_fd is /proc/PID.
 */
int process_look_at_files(const ProcessLook *look, int process_fd, UnseenReason *ret_reason);
int process_look_at_mappings(const ProcessLook *look, int process_fd, UnseenReason *ret_reason);
