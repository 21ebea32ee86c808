/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of many similar events get a line in the log: the first of a burst, and at its end the
 * number of events. A burst is a series of events of one kind, by one user, without a pause. Users
 * who find no place in the table share one burst, so that the log stays short whatever they do.
 * This code has no clock: the caller passes the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BURSTS_MAX 32
/* A pause of this length ends a burst. */
#define BURST_PAUSE_USEC (UINT64_C(10) * 1000000)
/* A burst without a pause gets a line this often. */
#define BURST_LONGEST_USEC (UINT64_C(600) * 1000000)

typedef struct Burst {
	uid_t uid;	  /* of its first event */
	const char *what; /* likewise; a constant */
	bool of_many;	  /* of several users or kinds, for which the table had no place */
	uint64_t n;	  /* events; 0: there is no burst */
	uint64_t first_usec, last_usec;
} Burst;

/* All zeros: none. */
typedef struct Bursts {
	Burst items[BURSTS_MAX + 1]; /* the last one is of many */
} Bursts;

/* Counts an event. true: it begins a burst. Keeps the pointer `what`. */
bool bursts_note(Bursts *bursts, uid_t uid, const char *what, uint64_t now_usec);
/* When the next burst ends, unless an event is added to it; UINT64_MAX: there is no burst. */
uint64_t bursts_end_usec(const Bursts *bursts);
/* Takes out a burst that has ended. false: none has. */
bool bursts_take_ended(Bursts *bursts, uint64_t now_usec, Burst *ret);
