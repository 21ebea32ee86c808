/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a close look begins: open folders, which a test can put anywhere. */
#pragma once

typedef struct InspectRoots {
	int sysfs_fd;
	int proc_fd;
	int modules_fd; /* /lib/modules/$(uname -r), for modules.dep; -1: unknown */
} InspectRoots;
