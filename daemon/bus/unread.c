/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/unread.h"

#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "bus/bus-daemon.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

#define STATS "org.freedesktop.DBus.Debug.Stats"

/* Of ours, for all; and what each user may leave unread then. */
#define UNREAD_MAX (8U * 1024 * 1024)
#define UNREAD_USER_MAX (1024U * 1024)
/* A user gets 50 long answers a second: what comes in between is far below the limit of the bus. */
#define PERIOD_USEC USEC_PER_SEC

struct Unread {
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

static void set_unread(Unread *unread, Caller *caller, uint32_t bytes)
{
	User *user = users_get(unread->users, caller->uid, now_monotonic());

	/* Who had no place of his own may have got one since. */
	user->unread -= user->unread < caller->unread ? user->unread : caller->unread;
	user->unread += bytes;
	caller->unread = bytes;
}

static int on_callers_bytes(sd_bus_message *answer, void *userdata,
			    _unused_ sd_bus_error *ret_error)
{
	Caller *caller = userdata;
	uint32_t bytes = 0;

	caller->unread_question = sd_bus_slot_unref(caller->unread_question);
	if (read_bytes(answer, "OutgoingBytes", &bytes) >= 0)
		set_unread(caller->unread_asker, caller, bytes);
	return 1;
}

/* Whom it cannot ask about now, it asks about a second later. */
static void ask_about(Caller *caller, void *userdata)
{
	Unread *unread = userdata;

	if (caller->uid == 0 || caller->unread_question)
		return;
	caller->unread_asker = unread;
	(void)ask(unread->bus, caller->name, on_callers_bytes, caller, &caller->unread_question);
}

bool unread_blocks(const Unread *unread, const User *user)
{
	return unread->much && user->unread > UNREAD_USER_MAX;
}

void unread_left(Unread *unread, Caller *caller)
{
	if (caller->unread > 0)
		set_unread(unread, caller, 0);
}

/* ---- how much it is ---- */

static void set_much(Unread *unread, bool much)
{
	if (much && !unread->much)
		log_warning(
			"answers are not read: the bus keeps them, and users who left more than "
			"1 MiB get no more until they have read");
	unread->much = much;
}

static int on_bytes(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	Unread *unread = userdata;
	uint32_t bytes = 0;

	unread->question = sd_bus_slot_unref(unread->question);
	unread->untold = read_bytes(answer, "IncomingBytes", &bytes) < 0;
	/* Half of it has to be read first, so that it does not begin again at once. */
	set_much(unread, bytes > (unread->much ? UNREAD_MAX / 2 : UNREAD_MAX));
	if (unread->much)
		callers_visit(unread->callers, ask_about, unread);
	return 1;
}

static int on_due(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	Unread *unread = userdata;
	const char *name;
	int r;

	if (unread->untold || (!unread->served && !unread->much))
		return 0;
	unread->served = false;
	r = unread->question ? 0 : sd_bus_get_unique_name(unread->bus, &name);
	if (r >= 0 && !unread->question)
		(void)ask(unread->bus, name, on_bytes, unread, &unread->question);
	r = sd_event_source_set_time_relative(source, PERIOD_USEC);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void unread_served(Unread *unread)
{
	int enabled = SD_EVENT_OFF;

	unread->served = true;
	if (unread->untold || sd_event_source_get_enabled(unread->due, &enabled) < 0 ||
	    enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time_relative(unread->due, PERIOD_USEC);
	(void)sd_event_source_set_enabled(unread->due, SD_EVENT_ONESHOT);
}

/* ---- life ---- */

int unread_new(sd_bus *bus, Callers *callers, Users *users, Unread **ret)
{
	_cleanup_(unread_freep) Unread *unread = calloc(1, sizeof(Unread));
	int r;

	if (!unread)
		return -ENOMEM;
	unread->bus = bus;
	unread->callers = callers;
	unread->users = users;
	r = sd_event_add_time_relative(sd_bus_get_event(bus), &unread->due, CLOCK_MONOTONIC, 0,
				       USEC_PER_SEC / 4, on_due, unread);
	if (r >= 0)
		r = sd_event_source_set_enabled(unread->due, SD_EVENT_OFF);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(unread);
	return 0;
}

Unread *unread_free(Unread *unread)
{
	if (!unread)
		return NULL;
	sd_bus_slot_unref(unread->question);
	sd_event_source_unref(unread->due);
	free(unread);
	return NULL;
}
