/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop of a verb that waits: for the bus, for SIGINT and SIGTERM, and over ssh for a host
 * that falls silent. ssh itself waits for ever: its ServerAliveInterval is 0 unless somebody sets
 * it. On the bus of this machine nothing of that is done.
 */
#pragma once

#include <systemd/sd-event.h>

#include "bus/bus.h"

typedef struct Loop {
	sd_bus *bus;
	sd_event *event;
	sd_event_source *sigint, *sigterm, *tick;
	sd_bus_slot *ping;
	bool unanswered;
	bool interrupted; /* SIGINT or SIGTERM */
	bool silent;	  /* for BUS_SILENCE_USEC now: the loop is to end */
} Loop;

/* The client is connected. A negative errno of sd-bus. */
int loop_start(Loop *l, const Client *c);
void loop_clear(Loop *l);
