/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bound on what callers have under way: so much in all, and so much a user. By user, and not by
 * bus name, because a user can have as many names as he likes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define QUOTA_MAX 64

typedef struct Quota {
	size_t all_max;	 /* at most QUOTA_MAX */
	size_t user_max; /* not for root and the daemon's own user */
	uid_t own_uid;
	uid_t users[QUOTA_MAX]; /* who has something under way, once for each */
	size_t n;
} Quota;

/* Root, and the user that the daemon runs as. */
bool quota_is_privileged(const Quota *quota, uid_t uid);
/* -EDQUOT: this user has too much under way; -EAGAIN: all together have. */
int quota_take(Quota *quota, uid_t uid);
/* Once for each quota_take() that succeeded. */
void quota_give(Quota *quota, uid_t uid);
