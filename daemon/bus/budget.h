/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a user may ask for in a given time: a bucket of tokens, which fills steadily up to a
 * burst. We count by user and not by bus name, because a user can have any number of names. We also
 * count all users together, because one person can have many user ids (/etc/subuid).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "bus/call-queue.h"

typedef struct Rate {
	uint64_t usec_per_token;
	uint64_t burst; /* tokens of a full bucket */
} Rate;

/* The monotonic time, in microseconds, at which the bucket is full again. 0: it is full. */
typedef uint64_t Bucket;

/* How long until the bucket has this many tokens; 0: it has them now. Takes none. */
uint64_t bucket_wait(Bucket bucket, const Rate *rate, uint64_t tokens, uint64_t now);
/* Only after bucket_wait() returned 0. */
void bucket_take(Bucket *bucket, const Rate *rate, uint64_t tokens, uint64_t now);

/* What one user has left, and the calls that wait until the user has more. */
typedef struct User {
	uid_t uid;
	Bucket calls, refusals;
	uint64_t muted_until; /* after a call that was too large */
	CallQueue waiting;
	uint64_t backlog;    /* bytes, of all names of the user; see bus/backlog.h */
	uint64_t refused_at; /* time of the last refusal; 0: never */
	uint64_t refused;    /* refusals since the last line in the log */
} User;

#define USERS_MAX 256

typedef struct Users {
	User items[USERS_MAX];
	size_t n;
	User others; /* shared by users who find no place above */
} Users;

/* The user's place. It may be taken from a user whose buckets are full again. */
User *users_get(Users *users, uid_t uid, uint64_t now);
