/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/loop.h"

#include <signal.h>

static int on_pong(_unused_ sd_bus_message *reply, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Loop *l = userdata;

	l->unanswered = false;
	return 1;
}

/* Any answer will do, an error as well. */
static int on_tick(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	_cleanup_message_ sd_bus_message *ping = NULL;
	Loop *l = userdata;
	int r;

	if (l->unanswered) {
		l->silent = true;
		return 0;
	}
	l->ping = sd_bus_slot_unref(l->ping);
	r = sd_bus_message_new_method_call(l->bus, &ping, "org.freedesktop.DBus", "/",
					   "org.freedesktop.DBus.Peer", "Ping");
	/* With a limit of its own, sd-bus would answer in the host's place. */
	if (r >= 0)
		r = sd_bus_call_async(l->bus, &l->ping, ping, on_pong, l, UINT64_MAX);
	if (r < 0)
		return r;
	l->unanswered = true;
	r = sd_event_source_set_time_relative(source, BUS_SILENCE_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_signal(_unused_ sd_event_source *source, _unused_ const struct signalfd_siginfo *info,
		     void *userdata)
{
	Loop *l = userdata;

	l->interrupted = true;
	return 0;
}

int loop_start(Loop *l, const Client *c)
{
	sigset_t mask;
	int r;

	l->bus = c->bus;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	r = sd_event_new(&l->event);
	if (r >= 0)
		r = sd_event_add_signal(l->event, &l->sigint, SIGINT, on_signal, l);
	if (r >= 0)
		r = sd_event_add_signal(l->event, &l->sigterm, SIGTERM, on_signal, l);
	if (r >= 0)
		r = sd_bus_attach_event(l->bus, l->event, SD_EVENT_PRIORITY_NORMAL);
	if (r >= 0 && c->options->host)
		r = sd_event_add_time_relative(l->event, &l->tick, CLOCK_MONOTONIC,
					       BUS_SILENCE_USEC, 0, on_tick, l);
	return r;
}

void loop_clear(Loop *l)
{
	sd_event_source_unref(l->tick);
	sd_bus_slot_unref(l->ping);
	if (l->event)
		sd_bus_detach_event(l->bus);
	sd_event_source_unref(l->sigint);
	sd_event_source_unref(l->sigterm);
	sd_event_unref(l->event);
	*l = (Loop){ 0 };
}
