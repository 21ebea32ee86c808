/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts that are asked over ssh and fall silent. ssh itself waits for ever: its ServerAliveInterval
 * is 0 unless somebody sets it. On the bus of this machine nothing of this is done.
 */
#pragma once

#include <systemd/sd-event.h>

#include "bus/bus.h"

/* Asks the host's bus for a sign of life at intervals; without -H it does nothing. */
typedef struct Silence {
	sd_bus *bus;
	sd_event_source *tick;
	sd_bus_slot *ping;
	bool unanswered;
	bool lasts; /* for BUS_SILENCE_USEC now: the loop is to end */
} Silence;

int silence_watch(Silence *s, const Client *c, sd_event *event);
void silence_clear(Silence *s);
