/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/budget.h"

uint64_t bucket_wait(Bucket bucket, const Rate *rate, uint64_t tokens, uint64_t now)
{
	uint64_t full = (bucket > now ? bucket : now) + tokens * rate->usec_per_token;
	uint64_t most = now + rate->burst * rate->usec_per_token;

	return full > most ? full - most : 0;
}

void bucket_take(Bucket *bucket, const Rate *rate, uint64_t tokens, uint64_t now)
{
	*bucket = (*bucket > now ? *bucket : now) + tokens * rate->usec_per_token;
}

static bool is_idle(const User *user, uint64_t now)
{
	return user->calls <= now && user->refusals <= now && user->waiting.n == 0 &&
	       user->backlog == 0;
}

User *users_get(Users *users, uid_t uid, uint64_t now)
{
	User *place = NULL;

	for (size_t i = 0; i < users->n; i++) {
		if (users->items[i].uid == uid)
			return &users->items[i];
		if (is_idle(&users->items[i], now))
			place = &users->items[i];
	}
	if (!place && users->n == USERS_MAX)
		return &users->others;
	if (!place)
		place = &users->items[users->n++];
	*place = (User){ .uid = uid };
	return place;
}
