/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignments on disk: assignments.d/<domain-uuid>.json, replaced atomically and durably. Used
 * from the loop and from job threads; every call stands for itself.
 */
#pragma once

#include "core/facts/assignment.h"

typedef struct AssignmentStore {
	int dir_fd; /* owned */
} AssignmentStore;

/* Opens the directory, creating it if need be. */
int assignment_store_open(const char *directory, AssignmentStore *ret);
void assignment_store_close(AssignmentStore *store);

/*
 * Reads all. A file that cannot be understood is set aside as NAME.damaged (one of a newer version
 * is left in place), never deleted. Each keeps apart what it may be about, as does one that was set
 * aside earlier, until a person removes it: (*ret)->fences; *ret_notes has a line for each.
 */
int assignment_store_load(const AssignmentStore *store, Assignments **ret, char ***ret_notes);

/*
 * Whether it could be saved, or removed, now: -EPROTO where the domain's file is another version's,
 * otherwise what a write gives (-ENOSPC, -EROFS …). Leaves nothing behind.
 */
int assignment_store_check(const AssignmentStore *store, const Assignment *assignment);
/* What it writes for a moment begins with a dot and ends so. */
#define ASSIGNMENT_CHECK_SUFFIX ".check"

/* Both refuse another version's file: -EPROTO. */
int assignment_store_save(const AssignmentStore *store, const Assignment *assignment);
/* Success also when there is none. */
int assignment_store_remove(const AssignmentStore *store, const char *domain_uuid);
