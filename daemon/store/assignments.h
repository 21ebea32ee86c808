/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignments on disk, one file each in assignments.d, replaced atomically and durably. The first
 * group of a domain has the domain's UUID as its file's name, as it was when a domain could have
 * one group only; see host/scan/assignment-files.h for the others. The loop and job threads use
 * them; calls keep no state between them.
 */
#pragma once

#include "core/facts/assignment.h"
#include "store/kept.h"

typedef struct AssignmentStore {
	int dir_fd;	 /* owned */
	KeptStore *kept; /* borrowed: loaded with it; NULL: no group is kept (tests) */
} AssignmentStore;

/* Opens the directory, and creates it if it is missing. */
int assignment_store_open(const char *directory, AssignmentStore *ret);
void assignment_store_close(AssignmentStore *store);

/*
 * Reads all. Renames a file that cannot be understood to NAME.damaged, and never deletes it. Leaves
 * a file of a newer version in place. Each of these files, also one that was set aside earlier,
 * fences off what it may be about until a person removes it: (*ret)->fences. *ret_notes has a line
 * for each.
 */
int assignment_store_load(const AssignmentStore *store, Assignments **ret, char ***ret_notes);

/*
 * Checks that the assignment could be saved or removed now. -EPROTO: the domain's file is of
 * another version. Otherwise the error of a write (-ENOSPC, -EROFS …). Leaves nothing behind.
 */
int assignment_store_check(const AssignmentStore *store, const Assignment *assignment);
/* The name of its temporary file begins with a dot and ends with this. */
#define ASSIGNMENT_CHECK_SUFFIX ".check"

/*
 * Both are about the file of the same domain that names one of the assignment's functions, and
 * refuse a file of another version: -EPROTO.
 */
int assignment_store_save(const AssignmentStore *store, const Assignment *assignment);
/* 0 also if there is no such file. */
int assignment_store_remove(const AssignmentStore *store, const Assignment *assignment);
