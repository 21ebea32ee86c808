/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting for gpupassd's signals, for verbs that go on until they are interrupted: nothing is asked
 * at intervals. They survive the daemon's restart.
 */
#pragma once

#include <systemd/sd-event.h>

#include "bus/bus.h"

/*
 * The event loop of a verb that waits: for the bus, for SIGINT and SIGTERM, and over ssh for a host
 * that falls silent. ssh itself waits for ever: its ServerAliveInterval is 0 unless somebody sets
 * it. On the bus of this machine nothing of that is done.
 */
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

typedef struct ListenerHooks {
	/* Matches of signals of gpupassd's, each of which may mean a change; NULL ends the list. */
	const char *const *changes;
	/* A signal of the manager's, such as JobNew. NULL: not listened to. Returns -errno. */
	int (*manager)(sd_bus_message *message, void *userdata);
	/* The daemon came, or went. NULL: only the flag says so. Returns -errno. */
	int (*daemon)(bool there, void *userdata);
} ListenerHooks;

typedef struct Listener {
	Client *client;
	const ListenerHooks *hooks;
	void *userdata;
	Loop loop;
	sd_bus_slot *slots[4];
	size_t n_slots;
	bool there;   /* the daemon is on the bus */
	bool changed; /* since the caller looked last, and cleared it */
	int error;
} Listener;

/* Connects and subscribes. The caller looks at the objects after it, so that it misses nothing. */
int listener_start(Listener *l, Client *c, const ListenerHooks *hooks, void *userdata);
/*
 * Waits for one event, or until the time is over (UINT64_MAX: for ever), and calls the hooks.
 * Returns 1 after an event, 0 when the time is over.
 */
int listener_wait(Listener *l, uint64_t timeout_usec);
void listener_clear(Listener *l);

/* How long to wait before the next try, when the daemon is there and does not answer. */
#define LISTENER_RETRY_USEC UINT64_C(1000000)
