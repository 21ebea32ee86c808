/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept groups on disk, one file each in kept.d, replaced atomically and durably. Job threads and
 * the manager's thread use it; the lock is held for each call.
 */
#pragma once

#include <pthread.h>

#include "core/facts/kept.h"

typedef struct KeptStore {
	int dir_fd; /* owned */
	pthread_mutex_t lock;
} KeptStore;

/* Opens the directory, and creates it if it is missing. */
int kept_store_open(const char *directory, KeptStore *ret);
void kept_store_close(KeptStore *store);

/* Adds all of them to `all`. `notes` may be NULL. */
int kept_store_load(KeptStore *store, Assignments *all, char ***notes);

/*
 * Checks that it could be saved now. -EPROTO: another version wrote its file. Otherwise the error
 * of a write. Leaves nothing behind.
 */
int kept_store_check(KeptStore *store, const Assignment *kept);
/* Replaces all that share a function with it. -EPROTO: see above. */
int kept_store_save(KeptStore *store, const Assignment *kept);
/* Removes all that share a function with it. */
int kept_store_remove(KeptStore *store, const Assignment *kept);

/*
 * Follows the setting: removes those of `gone` that are still stored like this, and saves those of
 * `wanted` that are not. What a person has asked for meanwhile stays.
 */
int kept_store_follow(KeptStore *store, const Assignments *wanted, const Assignments *gone);
