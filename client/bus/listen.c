/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/listen.h"

#include <signal.h>

#define MATCH_DAEMON "type='signal',sender='" GPUPASS_BUS_NAME "',"
#define MATCH_CHANGES                                                                              \
	MATCH_DAEMON "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
#define MATCH_OBJECTS                                                                              \
	MATCH_DAEMON "interface='org.freedesktop.DBus.ObjectManager',path='" GPUPASS_PATH_ROOT "'"
#define MATCH_GROUPS MATCH_CHANGES "path_namespace='" GPUPASS_PATH_GROUPS "'"
#define MATCH_MANAGER                                                                              \
	MATCH_DAEMON "interface='" GPUPASS_IFACE_MANAGER "',path='" GPUPASS_PATH_ROOT "'"

static int on_manager(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Listener *l = userdata;
	int r = l->hooks->manager(message, l->userdata);

	if (r < 0)
		l->error = r;
	return 0;
}

static int on_objects(_unused_ sd_bus_message *message, void *userdata,
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

static int on_interrupt(_unused_ sd_event_source *s, _unused_ const struct signalfd_siginfo *si,
			void *userdata)
{
	Listener *l = userdata;

	l->over = true;
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
	int r = add_match(l, MATCH_GROUPS, on_objects);

	if (r >= 0)
		r = add_match(l, MATCH_OBJECTS, on_objects);
	if (r >= 0 && l->hooks->manager)
		r = add_match(l, MATCH_MANAGER, on_manager);
	if (r >= 0)
		r = add_match(l, BUS_MATCH_OWNER, on_owner);
	return r;
}

static int start_events(Listener *l)
{
	sigset_t mask;
	int r;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
		return -errno;
	r = sd_event_new(&l->event);
	if (r >= 0)
		r = sd_event_add_signal(l->event, &l->sigint, SIGINT, on_interrupt, l);
	if (r >= 0)
		r = sd_event_add_signal(l->event, &l->sigterm, SIGTERM, on_interrupt, l);
	if (r >= 0)
		r = sd_bus_attach_event(l->client->bus, l->event, SD_EVENT_PRIORITY_NORMAL);
	if (r >= 0)
		r = silence_watch(&l->silence, l->client, l->event);
	return r;
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
		r = start_events(l);
	return r < 0 ? bus_fail(c, NULL, r) : 0;
}

int listener_wait(Listener *l, uint64_t timeout_usec)
{
	int r = sd_event_run(l->event, timeout_usec);

	if (r < 0)
		return bus_fail(l->client, NULL, r);
	if (sd_bus_is_open(l->client->bus) <= 0)
		return bus_fail(l->client, NULL, -ENOTCONN);
	if (l->silence.lasts)
		return bus_fail(l->client, NULL, -ETIMEDOUT);
	return l->error < 0 ? l->error : r;
}

void listener_clear(Listener *l)
{
	for (size_t i = 0; i < l->n_slots; i++)
		sd_bus_slot_unref(l->slots[i]);
	silence_clear(&l->silence);
	if (l->event)
		sd_bus_detach_event(l->client->bus);
	sd_event_source_unref(l->sigint);
	sd_event_source_unref(l->sigterm);
	sd_event_unref(l->event);
}
