/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reading half of the assignments on disk: also for the boot helper, which runs while the root
 * file system may be read-only. Writes, renames and creates nothing; what becomes of a file that
 * cannot be used is its reader's decision (store/assignments.h).
 */
#pragma once

#include "core/facts/assignment.h"

typedef struct AssignmentFault {
	char *name; /* of the file */
	int error;  /* -EPROTO: another version's; otherwise it cannot be understood */
	char *why;  /* NULL: the error says it all */
} AssignmentFault;

typedef struct AssignmentFaults {
	AssignmentFault *items;
	size_t n_items;
} AssignmentFaults;

/* "UUID.json"; NULL when memory is out. */
char *assignment_file_name(const char *domain_uuid);

/* One file, whatever its name says. */
int assignment_file_read(int dir_fd, const char *name, Assignment **ret, char **ret_why);

/*
 * All of a directory. A file whose name is not its domain's UUID is a fault, too: a copy would give
 * one group to two domains. Files that vanish meanwhile are left out. The fences of *ret are of the
 * faults, in their order, and then of files that were set aside as damaged.
 */
int assignment_files_read(int dir_fd, Assignments **ret, AssignmentFaults **ret_faults);

AssignmentFaults *assignment_faults_free(AssignmentFaults *faults);
DEFINE_CLEANUP(AssignmentFaults, assignment_faults_free)
