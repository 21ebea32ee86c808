/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a user may ask for in a time: a bucket of tokens that fills steadily, up to a burst. By
 * user, and not by bus name, because a user can have as many names as he likes; and for all users
 * together, because one can have many ids (/etc/subuid).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "bus/call-queue.h"

typedef struct Rate {
	uint64_t usec_per_token;
	uint64_t burst; /* tokens of a full bucket */
} Rate;

/* When it is full again, as monotonic microseconds; 0 is a full one. */
typedef uint64_t Bucket;

/* How long until it has so many tokens; 0: it has. None are taken. */
uint64_t bucket_wait(Bucket bucket, const Rate *rate, uint64_t tokens, uint64_t now);
/* bucket_wait() must have been 0. */
void bucket_take(Bucket *bucket, const Rate *rate, uint64_t tokens, uint64_t now);

/* What one user has left, and his calls that wait until he has more. */
typedef struct User {
	uid_t uid;
	Bucket calls, refusals;
	uint64_t muted_until; /* after a call that was too large */
	CallQueue waiting;
	uint64_t backlog;    /* of all his names together; see bus/backlog.h */
	uint64_t refused_at; /* the last one; 0: never */
	uint64_t refused;    /* since the log told of it */
} User;

#define USERS_MAX 256

typedef struct Users {
	User items[USERS_MAX];
	size_t n;
	User others; /* whoever finds no place shares this one */
} Users;

/* A user's place, perhaps that of one whose buckets are full again. */
User *users_get(Users *users, uid_t uid, uint64_t now);
