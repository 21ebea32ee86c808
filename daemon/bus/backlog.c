/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/backlog.h"

#include <systemd/sd-event.h>

#include "bus/callers.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

#define STATS "org.freedesktop.DBus.Debug.Stats"
#define BACKLOG_MAX (8U * 1024 * 1024)
#define PERIOD_USEC USEC_PER_SEC

struct Backlog {
	sd_bus *bus;
	sd_event_source *due;
	sd_bus_slot *question;
	BacklogChanged changed;
	void *userdata;
	bool much, untold; /* untold: this bus daemon does not say */
};

static int on_bytes(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Backlog *backlog = userdata;
	uint32_t bytes = 0;
	bool much;

	backlog->question = sd_bus_slot_unref(backlog->question);
	/* What we sent and somebody has not read. */
	backlog->untold = bus_daemon_read(answer, "IncomingBytes", &bytes) < 0;
	/* Half of it has to be read first, so that it does not begin again at once. */
	much = bytes > (backlog->much ? BACKLOG_MAX / 2 : BACKLOG_MAX);
	/* Nobody says when it has been read. */
	if (much)
		backlog_told(backlog);
	if (much == backlog->much)
		return 1;
	backlog->much = much;
	if (much)
		log_warning("a client on the bus does not read: until it does, clients hear of "
			    "jobs that begin and end, and of no other change");
	backlog->changed(much, backlog->userdata);
	return 1;
}

static int on_due(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	Backlog *backlog = userdata;
	const char *name;

	if (!backlog->question && sd_bus_get_unique_name(backlog->bus, &name) >= 0)
		(void)bus_daemon_ask(backlog->bus, STATS, "GetConnectionStats", name, 0, on_bytes,
				     backlog, &backlog->question);
	return 0;
}

void backlog_told(Backlog *backlog)
{
	int enabled = SD_EVENT_OFF;

	if (backlog->untold || sd_event_source_get_enabled(backlog->due, &enabled) < 0 ||
	    enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time_relative(backlog->due, PERIOD_USEC);
	(void)sd_event_source_set_enabled(backlog->due, SD_EVENT_ONESHOT);
}

/* ---- life ---- */

int backlog_new(sd_bus *bus, BacklogChanged changed, void *userdata, Backlog **ret)
{
	Backlog *backlog = xcalloc(1, sizeof(Backlog));
	int r;

	*backlog = (Backlog){ .bus = bus, .changed = changed, .userdata = userdata };
	r = sd_event_add_time_relative(sd_bus_get_event(bus), &backlog->due, CLOCK_MONOTONIC, 0,
				       USEC_PER_SEC / 4, on_due, backlog);
	if (r >= 0)
		r = sd_event_source_set_enabled(backlog->due, SD_EVENT_OFF);
	if (r >= 0)
		*ret = backlog;
	return r;
}
