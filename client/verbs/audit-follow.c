/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass audit --follow: the daemon says that there is more, and the next page is read. */
#include "bus/listen.h"
#include "verbs/audit.h"

static const char *const changes[] = {
	"type='signal',sender='" GPUPASS_BUS_NAME "',path='" GPUPASS_PATH_ROOT "',"
	"interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
	NULL
};

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

static int print_new(Client *c, const AuditFilter *filter, uint64_t *last)
{
	_cleanup_(json_decrefp) json_t *records = NULL;
	json_t *record;
	size_t i;
	int r = audit_records(c, filter, *last, &records, last);

	if (r == -ECANCELED && c->failure && c->failure->code == GPUPASS_EXIT_NO_DAEMON) {
		client_forgive(c); /* a signal says when it is back */
		return 0;
	}
	json_array_foreach (records, i, record)
		if (r >= 0)
			r = audit_print_line(c, record);
	return r;
}

static int run(Client *c, Listener *l, const AuditFilter *filter)
{
	uint64_t last = 0;
	int r = filter->since_usec > 0 ? 0 : find_end(c, &last);

	for (l->changed = true; r >= 0 && !l->loop.interrupted;) {
		if (l->changed && l->there) {
			l->changed = false;
			r = print_new(c, filter, &last);
		} else {
			r = listener_wait(l, UINT64_MAX);
		}
	}
	return r;
}

int audit_follow(Client *c, const AuditFilter *filter)
{
	static const ListenerHooks hooks = { changes, NULL, NULL };
	Listener l = { 0 };
	int r = listener_start(&l, c, &hooks, NULL);

	if (r >= 0)
		r = run(c, &l, filter);
	listener_clear(&l);
	return r;
}
