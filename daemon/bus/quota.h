/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A limit on the calls under way: one for each user, and one for all users together. We count by
 * user and not by bus name, because a user can have any number of names. A person may have many
 * uids, too (through user namespaces), so root has a share of its own, which no number of users can
 * take up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define QUOTA_MAX 64

typedef struct Quota {
	size_t all_max;	 /* of users, and as many of root; at most QUOTA_MAX */
	size_t user_max; /* does not apply to root and the daemon's own user */
	uid_t own_uid;
	uid_t users[QUOTA_MAX]; /* one entry for each call under way */
	size_t n;
	size_t n_privileged; /* calls of root and of the daemon's own user, counted apart */
} Quota;

/* Root, and the user that the daemon runs as. */
bool quota_is_privileged(const Quota *quota, uid_t uid);
/* -EDQUOT: this user is at the limit. -EAGAIN: all users together are, or root is. */
int quota_take(Quota *quota, uid_t uid);
/* To be called once for each quota_take() that succeeded. */
void quota_give(Quota *quota, uid_t uid);
