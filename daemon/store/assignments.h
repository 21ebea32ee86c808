/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignments on disk: assignments.d, a file each. The first group of a domain has the domain's
 * UUID as its file's name, as it was when a domain could have one group only.
 */
#pragma once

#include "store/kept.h"

typedef struct AssignmentStore {
	RecordStore records;
	KeptStore *kept; /* borrowed: loaded with it; NULL: no group is kept (tests) */
} AssignmentStore;

/* All of them. What cannot be used is among the faults, and blocks what it may be about. */
Assignments *assignment_store_load(AssignmentStore *store);

/* Checks that the assignment could be saved or removed now. -EPROTO: as below. */
int assignment_store_check(AssignmentStore *store, const Assignment *assignment);

/*
 * Both are about the file of the same domain that names one of the assignment's functions, and
 * refuse while a file of that domain is of another version, -EPROTO, or cannot be read.
 */
int assignment_store_save(AssignmentStore *store, const Assignment *assignment);
/* 0 also if there is no such file. */
int assignment_store_remove(AssignmentStore *store, const Assignment *assignment);
