/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open directories that an inspection starts from; a test can put them anywhere. */
#pragma once

typedef struct InspectRoots {
	int sysfs_fd;
	int proc_fd;
	int modules_fd; /* /lib/modules/$(uname -r), for modules.dep; -1: unknown */
} InspectRoots;
