/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/listen.h"

#define MATCH_MANAGER                                                                              \
	"type='signal',sender='" GPUPASS_BUS_NAME "',interface='" GPUPASS_IFACE_MANAGER            \
	"',path='" GPUPASS_PATH_ROOT "'"

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
