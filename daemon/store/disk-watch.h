/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether what is written is on disk. After a failed fsync the kernel takes the pages for clean, and
 * the next fsync of that file succeeds without their content: fsync(2), BUGS. So one failure counts
 * until new files have been written, synced and removed in each directory of state; until then no
 * job is begun. Shared by all job threads.
 */
#pragma once

#include "core/base/problem.h"

typedef struct DiskWatch DiskWatch;

int disk_watch_new(DiskWatch **ret);
DiskWatch *disk_watch_free(DiskWatch *watch);
DEFINE_CLEANUP(DiskWatch, disk_watch_free)

/* A write of `what` failed with -errno. Only what tells of the disk counts: EIO, EROFS. watch may be
 * NULL, and then nobody watches. */
void disk_watch_note(DiskWatch *watch, const char *what, int error);

/*
 * 0 when no write has failed, or when each of these directories takes one now; otherwise PROBLEM
 * (StateReadOnly). Blocks like any write.
 */
int disk_watch_check(DiskWatch *watch, const int *dir_fds, size_t n, Problem **ret_problem);

/* NULL: all is well, or memory is out. A new string. */
char *disk_watch_reason(DiskWatch *watch);
