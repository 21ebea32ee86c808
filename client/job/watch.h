/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One job, from its call to its end, and with --wait the time before it. The client subscribes to
 * signals before it sends the call, or before it reads the job, so that it misses none.
 */
#pragma once

#include "bus/listen.h"
#include "model/model.h"

/* With --wait: a call that was refused as busy goes out again when what is busy has changed. */
typedef struct Turn {
	uint64_t until; /* monotonic, in microseconds; 0: no --wait */
	char *group;	/* the path of the group, or of none, that the call names */
	Failure *why;	/* the call was refused, and waits; NULL: it is on its way, or has begun */
	json_t *job;	/* the job that was refused, or NULL */
	Group seen;	/* as it is since then; unless `fresh` */
	bool changed;	/* the group has, since the call was sent */
	bool ended;	/* a job has, since then */
	bool fresh;	/* the group was not looked at yet */
	bool elsewhere; /* it was not the group that was busy, or nobody knows which */
	bool told;
} Turn;

typedef struct Watch {
	Client *client;
	sd_bus_message *call; /* the caller's */
	sd_bus_slot *called;
	Turn turn;
	Loop loop;
	sd_bus_slot *slots[3]; /* of the signals */
	size_t n_slots;
	sd_bus_slot *changes; /* of the job */
	char *path;	      /* of the job; NULL until the call is answered */
	Job job;
	bool known;	  /* `job` was read */
	bool dirty;	  /* something about it changed */
	bool stale;	  /* it must be read again */
	bool removed;	  /* JobRemoved came for it: it is over, whatever it says */
	bool daemon_lost; /* gpupassd left the bus */
	int error;	  /* a callback failed; client->failure may say more */
} Watch;

/* Subscribes, sends the call. `client` and `call` are set, and `turn` if it is to wait. */
int watch_start(Watch *w);
/*
 * Waits until something happens, and brings w->job up to date. 1: look, there is news; 0: it is
 * over (the job ended, or the watch was interrupted or lost).
 */
int watch_next(Watch *w);
/* The job ended, one way or the other. */
bool watch_job_is_over(const Watch *w);
void watch_clear(Watch *w);
/* Has the client fail as the job did. */
int watch_fail(Client *c, const Job *job);
