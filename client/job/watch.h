/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop behind job_run(): one job, from its call to its end. */
#pragma once

#include "bus/loop.h"
#include "model/model.h"

typedef struct Watch {
	Client *client;
	Loop loop;
	sd_bus_slot *slots[4];
	size_t n_slots;
	char *path; /* of the job; NULL until the call is answered */
	Job job;
	bool known;	  /* `job` was read */
	bool dirty;	  /* something about it changed */
	bool stale;	  /* it must be read again */
	bool removed;	  /* JobRemoved came for it: it is over, whatever it says */
	bool daemon_lost; /* gpupassd left the bus */
	int error;	  /* a callback failed; client->failure may say more */
} Watch;

/* Subscribes, sends the call. */
int watch_start(Watch *w, Client *c, sd_bus_message *call);
/*
 * Waits until something happens, and brings w->job up to date. 1: look, there is news; 0: it is
 * over (the job ended, or the watch was interrupted or lost).
 */
int watch_next(Watch *w);
/* The job ended, one way or the other. */
bool watch_job_is_over(const Watch *w);
void watch_clear(Watch *w);
