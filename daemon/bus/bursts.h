/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of many like events are worth a line in the log: the first of a burst, and at its end how
 * many there were. A burst is what one user does of one kind without a pause. Whoever comes with
 * more users than the table has places gets one burst for all of them, so that lines stay few
 * whatever is done. Pure: the caller has the clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BURSTS_MAX 32
/* So long without an event ends a burst. */
#define BURST_PAUSE_USEC (UINT64_C(10) * 1000000)
/* One that has no pause is told of as often as this. */
#define BURST_LONGEST_USEC (UINT64_C(600) * 1000000)

typedef struct Burst {
	uid_t uid;	  /* of its first event */
	const char *what; /* likewise; a constant */
	bool of_many;	  /* of more users, or kinds, than could be told apart */
	uint64_t n;	  /* events; 0: there is no burst */
	uint64_t first_usec, last_usec;
} Burst;

/* All zeros: none. */
typedef struct Bursts {
	Burst items[BURSTS_MAX + 1]; /* the last one is of many */
} Bursts;

/* Counts an event. true: it begins a burst. `what` is kept. */
bool bursts_note(Bursts *bursts, uid_t uid, const char *what, uint64_t now_usec);
/* When the next burst ends, if nothing is added to it; UINT64_MAX: there is none. */
uint64_t bursts_end_usec(const Bursts *bursts);
/* Takes out one that has ended. false: none has. */
bool bursts_take_ended(Bursts *bursts, uint64_t now_usec, Burst *ret);
