/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/silence.h"

static int on_pong(_unused_ sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Silence *s = userdata;

	s->unanswered = false;
	return 1;
}

/* Any answer will do, an error as well. */
static int on_tick(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	_cleanup_message_ sd_bus_message *ping = NULL;
	Silence *s = userdata;
	int r;

	if (s->unanswered) {
		s->lasts = true;
		return 0;
	}
	s->ping = sd_bus_slot_unref(s->ping);
	r = sd_bus_message_new_method_call(s->bus, &ping, "org.freedesktop.DBus", "/",
					   "org.freedesktop.DBus.Peer", "Ping");
	/* With a limit of its own, sd-bus would answer in the host's place. */
	if (r >= 0)
		r = sd_bus_call_async(s->bus, &s->ping, ping, on_pong, s, UINT64_MAX);
	if (r < 0)
		return r;
	s->unanswered = true;
	r = sd_event_source_set_time_relative(source, BUS_SILENCE_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int silence_watch(Silence *s, const Client *c, sd_event *event)
{
	s->bus = c->bus;
	return c->options->host ? sd_event_add_time_relative(event, &s->tick, CLOCK_MONOTONIC,
							     BUS_SILENCE_USEC, 0, on_tick, s)
				: 0;
}

void silence_clear(Silence *s)
{
	sd_event_source_unref(s->tick);
	sd_bus_slot_unref(s->ping);
	*s = (Silence){ 0 };
}
