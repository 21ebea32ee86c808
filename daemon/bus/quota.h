/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bound on what callers have under way: so much for all users together, and so much a user. By
 * user, and not by bus name, because a user can have as many names as he likes. He may have many
 * uids, too (of his user namespaces), so root does not share with users: it has as much again of
 * its own, and no number of them leaves it without.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define QUOTA_MAX 64

typedef struct Quota {
	size_t all_max;	 /* of users, and as many of root; at most QUOTA_MAX */
	size_t user_max; /* not for root and the daemon's own user */
	uid_t own_uid;
	uid_t users[QUOTA_MAX]; /* who has something under way, once for each */
	size_t n;
	size_t n_privileged; /* counted apart: what root and the daemon's own user have under way */
} Quota;

/* Root, and the user that the daemon runs as. */
bool quota_is_privileged(const Quota *quota, uid_t uid);
/* -EDQUOT: this user has too much under way; -EAGAIN: all together have, or root by itself. */
int quota_take(Quota *quota, uid_t uid);
/* Once for each quota_take() that succeeded. */
void quota_give(Quota *quota, uid_t uid);
