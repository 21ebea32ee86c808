/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/backlog.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "bus/bus-daemon.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

#define STATS "org.freedesktop.DBus.Debug.Stats"

/* Bytes of ours in the bus daemon; and the share of each user when there are more. */
#define BACKLOG_MAX (8U * 1024 * 1024)
#define BACKLOG_USER_MAX (1024U * 1024)
/* A user gets 50 long answers a second: what comes in between is far below the limit of the bus. */
#define PERIOD_USEC USEC_PER_SEC

struct Backlog {
	sd_bus *bus;
	Callers *callers;
	Users *users;
	sd_event_source *due;
	sd_bus_slot *question; /* how much it is */
	bool untold;	       /* this bus daemon does not say */
	bool much;
	bool served; /* since the last question */
};

/* -ENODATA: it is not there. */
static int read_entry(sd_bus_message *m, const char *wanted, uint32_t *ret)
{
	const char *key;
	int r;

	while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = sd_bus_message_read(m, "s", &key);
		if (r >= 0 && str_equal(key, wanted))
			return sd_bus_message_read(m, "v", "u", ret);
		if (r >= 0)
			r = sd_bus_message_skip(m, "v");
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : -ENODATA;
}

static int read_bytes(sd_bus_message *answer, const char *key, uint32_t *ret)
{
	int r = bus_daemon_answered(answer);

	if (r >= 0)
		r = sd_bus_message_enter_container(answer, 'a', "{sv}");
	return r < 0 ? r : read_entry(answer, key, ret);
}

static int ask(sd_bus *bus, const char *name, sd_bus_message_handler_t answered, void *userdata,
	       sd_bus_slot **ret)
{
	return sd_bus_call_method_async(bus, ret, BUS_DAEMON, BUS_DAEMON_PATH, STATS,
					"GetConnectionStats", answered, userdata, "s", name);
}

/* ---- whose it is ---- */

static void set_backlog(Backlog *backlog, Caller *caller, uint32_t bytes)
{
	User *user = users_get(backlog->users, caller->uid, now_monotonic());

	/* A user who shared the common place may have one of its own by now. */
	user->backlog -= user->backlog < caller->backlog ? user->backlog : caller->backlog;
	user->backlog += bytes;
	caller->backlog = bytes;
}

static int on_callers_bytes(sd_bus_message *answer, void *userdata,
			    _unused_ sd_bus_error *ret_error)
{
	Caller *caller = userdata;
	uint32_t bytes = 0;

	caller->backlog_question = sd_bus_slot_unref(caller->backlog_question);
	if (read_bytes(answer, "OutgoingBytes", &bytes) >= 0)
		set_backlog(caller->backlog_asker, caller, bytes);
	return 1;
}

/* Whom it cannot ask about now, it asks about a second later. */
static void ask_about(Caller *caller, void *userdata)
{
	Backlog *backlog = userdata;

	if (caller->uid == 0 || caller->backlog_question)
		return;
	caller->backlog_asker = backlog;
	(void)ask(backlog->bus, caller->name, on_callers_bytes, caller, &caller->backlog_question);
}

bool backlog_blocks(const Backlog *backlog, const User *user)
{
	return backlog->much && user->backlog > BACKLOG_USER_MAX;
}

void backlog_left(Backlog *backlog, Caller *caller)
{
	if (caller->backlog > 0)
		set_backlog(backlog, caller, 0);
}

/* ---- how much it is ---- */

static void set_much(Backlog *backlog, bool much)
{
	if (much && !backlog->much)
		log_warning(
			"answers are not read: the bus keeps them, and users who left more than "
			"1 MiB get no more until they have read");
	backlog->much = much;
}

static int on_bytes(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Backlog *backlog = userdata;
	uint32_t bytes = 0;

	backlog->question = sd_bus_slot_unref(backlog->question);
	backlog->untold = read_bytes(answer, "IncomingBytes", &bytes) < 0;
	/* Half of it has to be read first, so that it does not begin again at once. */
	set_much(backlog, bytes > (backlog->much ? BACKLOG_MAX / 2 : BACKLOG_MAX));
	if (backlog->much)
		callers_visit(backlog->callers, ask_about, backlog);
	return 1;
}

static int on_due(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	Backlog *backlog = userdata;
	const char *name;
	int r;

	if (backlog->untold || (!backlog->served && !backlog->much))
		return 0;
	backlog->served = false;
	r = backlog->question ? 0 : sd_bus_get_unique_name(backlog->bus, &name);
	if (r >= 0 && !backlog->question)
		(void)ask(backlog->bus, name, on_bytes, backlog, &backlog->question);
	r = sd_event_source_set_time_relative(source, PERIOD_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void backlog_served(Backlog *backlog)
{
	int enabled = SD_EVENT_OFF;

	backlog->served = true;
	if (backlog->untold || sd_event_source_get_enabled(backlog->due, &enabled) < 0 ||
	    enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time_relative(backlog->due, PERIOD_USEC);
	(void)sd_event_source_set_enabled(backlog->due, SD_EVENT_ONESHOT);
}

/* ---- life ---- */

int backlog_new(sd_bus *bus, Callers *callers, Users *users, Backlog **ret)
{
	_cleanup_(backlog_freep) Backlog *backlog = calloc(1, sizeof(Backlog));
	int r;

	if (!backlog)
		return -ENOMEM;
	backlog->bus = bus;
	backlog->callers = callers;
	backlog->users = users;
	r = sd_event_add_time_relative(sd_bus_get_event(bus), &backlog->due, CLOCK_MONOTONIC, 0,
				       USEC_PER_SEC / 4, on_due, backlog);
	if (r >= 0)
		r = sd_event_source_set_enabled(backlog->due, SD_EVENT_OFF);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(backlog);
	return 0;
}

Backlog *backlog_free(Backlog *backlog)
{
	if (!backlog)
		return NULL;
	sd_bus_slot_unref(backlog->question);
	sd_event_source_unref(backlog->due);
	free(backlog);
	return NULL;
}
