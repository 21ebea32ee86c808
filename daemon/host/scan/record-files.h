/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads records (core/facts/record.h). The boot helper uses it, too, while the root file system may
 * be read-only: it writes, renames and creates nothing. What becomes of a file that cannot be used
 * is the caller's to decide, by the faults.
 */
#pragma once

#include "core/facts/assignment.h"

/*
 * One file, which must be a regular one of this very name. -ENOENT: there is none. Any other error
 * is a fault, which is added to `faults` (may be NULL).
 */
int record_file_read(int dir_fd, const RecordKind *kind, const char *name, void **ret,
		     RecordFaults *faults);

/*
 * All of a folder, in the order of their names, each handed over to take(); NULL: only the faults
 * count. Files that vanish meanwhile are left out. A folder that cannot be read is a fault of its
 * own, with the name "".
 */
typedef void (*RecordTake)(void *into, const char *name, void *record);
void record_files_read(int dir_fd, const RecordKind *kind, RecordTake take, void *into,
		       RecordFaults *faults);

/* assignments.d, with what an earlier version set aside there. */
void assignment_files_read(int dir_fd, Assignments *all);
/* Of kept.d, into Assignments. */
void kept_take(void *into, const char *name, void *record);
