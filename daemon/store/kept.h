/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept groups on disk: kept.d, a file each (core/facts/kept.h). */
#pragma once

#include "core/facts/kept.h"
#include "store/records.h"

typedef RecordStore KeptStore; /* of kept_kind */

/* Adds all of them to `all`. What cannot be used is among the store's faults. */
void kept_store_load(KeptStore *store, Assignments *all);

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
