/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assignments on disk: assignments.d, a file each. The first group of a domain has the domain's
 * UUID as its file's name, as it was when a domain could have one group only.
 */
#pragma once

#include "core/facts/kept.h"
#include "store/records.h"

/* Kept groups on disk: kept.d, a file each (core/facts/kept.h). Of kept_kind. */
typedef RecordStore KeptStore;

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

/* Checks that it could be saved now: records_probe(). */
int kept_store_check(KeptStore *store, const Assignment *kept);
/* Replaces all that share a function with it. */
int kept_store_save(KeptStore *store, const Assignment *kept);
/* Removes all that share a function with it. */
int kept_store_remove(KeptStore *store, const Assignment *kept);

/*
 * Follows the setting: removes those of `gone` that are still stored like this, and saves those of
 * `wanted` that are not. What a person has asked for meanwhile stays.
 */
int kept_store_follow(KeptStore *store, const Assignments *wanted, const Assignments *gone);
