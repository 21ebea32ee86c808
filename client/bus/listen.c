/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/listen.h"

#include <signal.h>

#define MATCH_MANAGER                                                                              \
	"type='signal',sender='" GPUPASS_BUS_NAME "',interface='" GPUPASS_IFACE_MANAGER            \
	"',path='" GPUPASS_PATH_ROOT "'"

/* ---- the loop ---- */

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

/* ---- the listener ---- */

static int on_manager(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Listener *l = userdata;
	int r = l->hooks->manager(message, l->userdata);

	if (r < 0)
		l->error = r;
	return 0;
}

static int on_change(_unused_ sd_bus_message *message, void *userdata,
		     _unused_ sd_bus_error *ret_error)
{
	Listener *l = userdata;

	l->changed = true;
	return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *name, *before, *after;
	Listener *l = userdata;
	int r = 0;

	if (sd_bus_message_read(message, "sss", &name, &before, &after) <= 0)
		return 0;
	l->there = *after != '\0';
	l->changed = l->there;
	if (l->hooks->daemon)
		r = l->hooks->daemon(l->there, l->userdata);
	if (r < 0)
		l->error = r;
	return 0;
}

static int add_match(Listener *l, const char *match, sd_bus_message_handler_t handler)
{
	int r = sd_bus_add_match(l->client->bus, &l->slots[l->n_slots], match, handler, l);

	if (r >= 0)
		l->n_slots++;
	return r;
}

static int subscribe(Listener *l)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && l->hooks->changes[i]; i++)
		r = add_match(l, l->hooks->changes[i], on_change);
	if (r >= 0 && l->hooks->manager)
		r = add_match(l, MATCH_MANAGER, on_manager);
	return r < 0 ? r : add_match(l, BUS_MATCH_OWNER, on_owner);
}

int listener_start(Listener *l, Client *c, const ListenerHooks *hooks, void *userdata)
{
	int r;

	l->client = c;
	l->hooks = hooks;
	l->userdata = userdata;
	l->there = true; /* the caller's first look starts it */
	r = bus_connect(c);
	if (r < 0)
		return r;
	r = subscribe(l);
	if (r >= 0)
		r = loop_start(&l->loop, c);
	return r < 0 ? bus_fail(c, NULL, r) : 0;
}

int listener_wait(Listener *l, uint64_t timeout_usec)
{
	int r = sd_event_run(l->loop.event, timeout_usec);

	if (r < 0)
		return bus_fail(l->client, NULL, r);
	if (sd_bus_is_open(l->client->bus) <= 0)
		return bus_fail(l->client, NULL, -ENOTCONN);
	if (l->loop.silent)
		return bus_fail(l->client, NULL, -ETIMEDOUT);
	return l->error < 0 ? l->error : r;
}

void listener_clear(Listener *l)
{
	for (size_t i = 0; i < l->n_slots; i++)
		sd_bus_slot_unref(l->slots[i]);
	loop_clear(&l->loop);
}
