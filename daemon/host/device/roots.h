/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open directories that a close look starts from; a test can put them anywhere. */
#pragma once

typedef struct Roots {
	int sysfs_fd;
	int proc_fd;
	int root_fd;	/* "/": for etc, run, usr */
	int modules_fd; /* /lib/modules/$(uname -r), for modules.dep; -1: unknown */
} Roots;
