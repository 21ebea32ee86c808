/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/bursts.h"

#include <string.h>

static uint64_t end_of(const Burst *burst)
{
	uint64_t pause = burst->last_usec + BURST_PAUSE_USEC;
	uint64_t longest = burst->first_usec + BURST_LONGEST_USEC;

	return pause < longest ? pause : longest;
}

static Burst *find(Bursts *bursts, uid_t uid, const char *what)
{
	for (size_t i = 0; i < BURSTS_MAX; i++) {
		Burst *burst = &bursts->items[i];

		if (burst->n > 0 && burst->uid == uid && strcmp(burst->what, what) == 0)
			return burst;
	}
	return NULL;
}

/* A free place, or that of many. */
static Burst *find_place(Bursts *bursts)
{
	size_t i = 0;

	while (i < BURSTS_MAX && bursts->items[i].n > 0)
		i++;
	return &bursts->items[i];
}

bool bursts_note(Bursts *bursts, uid_t uid, const char *what, uint64_t now_usec)
{
	Burst *burst = find(bursts, uid, what);

	if (!burst)
		burst = find_place(bursts);
	if (burst->n == 0)
		*burst = (Burst){
			.uid = uid,
			.what = what,
			.of_many = burst == &bursts->items[BURSTS_MAX],
			.first_usec = now_usec,
		};
	burst->last_usec = now_usec;
	return burst->n++ == 0;
}

uint64_t bursts_end_usec(const Bursts *bursts)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i <= BURSTS_MAX; i++)
		if (bursts->items[i].n > 0 && end_of(&bursts->items[i]) < next)
			next = end_of(&bursts->items[i]);
	return next;
}

bool bursts_take_ended(Bursts *bursts, uint64_t now_usec, Burst *ret)
{
	for (size_t i = 0; i <= BURSTS_MAX; i++) {
		Burst *burst = &bursts->items[i];

		if (burst->n == 0 || end_of(burst) > now_usec)
			continue;
		*ret = *burst;
		*burst = (Burst){ 0 };
		return true;
	}
	return false;
}
