/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the assignments on disk. The boot helper uses it, too, while the root file system may be
 * read-only. Writes, renames and creates nothing; the caller decides what becomes of a file that
 * cannot be used (store/assignments.h).
 */
#pragma once

#include "core/facts/assignment.h"

typedef struct AssignmentFault {
	char *name; /* of the file */
	int error;  /* -EPROTO: of another version; otherwise it cannot be understood */
	char *why;  /* NULL: the error says everything */
} AssignmentFault;

typedef struct AssignmentFaults {
	AssignmentFault *items;
	size_t n_items;
} AssignmentFaults;

/*
 * "UUID.json", the file of a domain's first group. Each further group has
 * "UUID_ADDRESS.json", with the address of one of its functions.
 */
char *assignment_file_name(const char *domain_uuid);
char *assignment_file_name_further(const Assignment *assignment);

/* Reads one file, whatever its name. */
int assignment_file_read(int dir_fd, const char *name, Assignment **ret, char **ret_why);

/*
 * Reads all files of a directory. A file with a name that is not its assignment's is a fault, too,
 * because a copy would give one group to two domains. Leaves out files that vanish meanwhile. *ret
 * has the fences of the faults, in their order, and then those of files that were set aside as
 * damaged.
 */
int assignment_files_read(int dir_fd, Assignments **ret, AssignmentFaults **ret_faults);

AssignmentFaults *assignment_faults_free(AssignmentFaults *faults);
DEFINE_CLEANUP(AssignmentFaults, assignment_faults_free)
