/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches for writes that do not reach the disk. After a failed fsync the kernel marks the pages
 * clean, and the next fsync of that file succeeds without their content: fsync(2), BUGS. So after
 * one failure no job begins until new files could be written, synced and removed in each directory
 * of state. Shared by all job threads.
 */
#pragma once

#include "core/base/problem.h"

typedef struct DiskWatch DiskWatch;

DECLARE_NEW(DiskWatch, disk_watch_new)
DECLARE_FREE(DiskWatch, disk_watch_free)

/* A write of `what` failed with -errno. Only errors of the disk count: EIO, EROFS. NULL watch: does
 * nothing. */
void disk_watch_note(DiskWatch *watch, const char *what, int error);

/*
 * PROBLEM: `what` ("the assignment") could not be written to `file` (may be NULL). StateReadOnly,
 * whatever the disk says and whoever noticed it; GroupBusy for -EPROTO: another version wrote the
 * file. Notes the error, too.
 */
int disk_watch_refuse(DiskWatch *watch, const char *what, const char *file, int error,
		      Problem **ret_problem);

/*
 * 0: no write has failed, or each of these directories takes a write now. Otherwise PROBLEM
 * (StateReadOnly). Blocks like any write.
 */
int disk_watch_check(DiskWatch *watch, const int *dir_fds, size_t n, Problem **ret_problem);

/* A new string. NULL: no write has failed. */
char *disk_watch_reason(DiskWatch *watch);
