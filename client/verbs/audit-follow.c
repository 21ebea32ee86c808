/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass audit --follow: the daemon says that there is more, and the next page is read. */
#include <string.h>

#include "base/text.h"
#include "bus/bus.h"
#include "verbs/audit.h"

#define MATCH_CHANGES                                                                              \
	"type='signal',sender='" GPUPASS_BUS_NAME "',path='" GPUPASS_PATH_ROOT "',"                \
	"interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'"

typedef struct Follow {
	Client *client;
	const AuditFilter *filter;
	sd_bus_slot *changes, *owner;
	uint64_t last;
	bool there;
	bool stale; /* there may be more */
} Follow;

static int on_change(_unused_ sd_bus_message *message, void *userdata,
		     _unused_ sd_bus_error *ret_error)
{
	Follow *f = userdata;

	f->stale = true;
	return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *ret_error)
{
	const char *name, *before, *after;
	Follow *f = userdata;

	if (sd_bus_message_read(message, "sss", &name, &before, &after) > 0)
		f->there = f->stale = *after != '\0';
	return 0;
}

/* The number of the last record, from which on those that come are printed. */
static int find_end(Client *c, uint64_t *ret)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	int r = bus_new_call(c, GPUPASS_PATH_ROOT, "org.freedesktop.DBus.Properties", "Get", &call);

	if (r < 0)
		return r;
	r = sd_bus_message_append(call, "ss", GPUPASS_IFACE_MANAGER, "AuditSequence");
	if (r < 0)
		return bus_build_failed(c, r);
	r = bus_call(c, call, BUS_TIMEOUT_READ_USEC, "v", &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "v", "t", ret);
	return r < 0 ? bus_bad_reply(c, "the number of the last record is no number") : 0;
}

static int print_new(Follow *f)
{
	_cleanup_(json_decrefp) json_t *records = NULL;
	json_t *record;
	size_t i;
	int r;

	f->stale = false;
	r = audit_records(f->client, f->filter, f->last, &records, &f->last);
	if (r == -ECANCELED && f->client->failure &&
	    f->client->failure->code == GPUPASS_EXIT_NO_DAEMON) {
		client_forgive(f->client); /* a signal says when it is back */
		return 0;
	}
	json_array_foreach (records, i, record)
		if (r >= 0)
			r = audit_print_line(f->client, record);
	return r;
}

static int run(Follow *f)
{
	sd_bus *bus = f->client->bus;
	int r;

	for (;;) {
		r = sd_bus_process(bus, NULL);
		if (r < 0)
			return bus_fail(f->client, NULL, r);
		if (r > 0)
			continue;
		if (f->stale && f->there) {
			r = print_new(f);
			if (r < 0)
				return r;
			continue;
		}
		r = sd_bus_wait(bus, UINT64_MAX);
		if (r < 0 && r != -EINTR)
			return bus_fail(f->client, NULL, r);
	}
}

int audit_follow(Client *c, const AuditFilter *filter)
{
	Follow f = { .client = c, .filter = filter, .there = true, .stale = true };
	int r = bus_connect(c);

	if (r < 0)
		return r;
	r = sd_bus_add_match(c->bus, &f.changes, MATCH_CHANGES, on_change, &f);
	if (r >= 0)
		r = sd_bus_add_match(c->bus, &f.owner, BUS_MATCH_OWNER, on_owner, &f);
	if (r < 0)
		return bus_fail(c, NULL, r);
	r = filter->since_usec > 0 ? 0 : find_end(c, &f.last);
	if (r >= 0)
		r = run(&f);
	sd_bus_slot_unref(f.owner);
	sd_bus_slot_unref(f.changes);
	return r;
}
