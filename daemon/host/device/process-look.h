/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which device files one process has open or mapped. By no name that anybody can choose, and asking
 * nobody who could let us wait, except for the lock of the process's memory, which whoever serves
 * it a file by FUSE can hold for ever: so it runs in a process that can be ended (holders.c).
 */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/device-files.h"

typedef struct ProcessLook {
	const DeviceFiles *files;
	/* Has one of these: an index of files->items. -errno ends the look. */
	int (*found)(size_t file, void *userdata);
	void *userdata;
	bool real_proc; /* the kernel's, whose thread ids are those of system calls */
} ProcessLook;

/*
 * 0: all was seen, or the process has gone. 1: not all, and why in *ret_reason. -ENOMEM, -EMFILE or
 * -ENFILE: we could not look. `process` is /proc/PID.
 */
int process_look_at_files(const ProcessLook *look, int process_fd, UnseenReason *ret_reason);
int process_look_at_mappings(const ProcessLook *look, int process_fd, UnseenReason *ret_reason);
