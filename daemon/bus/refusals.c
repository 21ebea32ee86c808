/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/refusals.h"

#include <inttypes.h>
#include <systemd/sd-event.h>

#include "bus/bursts.h"
#include "core/base/problem.h"
#include "util/clock.h"
#include "util/log.h"

/* How late the line at the end of a burst may be. */
#define ACCURACY_USEC USEC_PER_SEC

struct Refusals {
	sd_bus *bus;
	sd_event_source *timer; /* NULL: never needed yet */
	Bursts denied, limited;
};

int refusals_new(sd_bus *bus, Refusals **ret)
{
	Refusals *refusals = calloc(1, sizeof(Refusals));

	if (!refusals)
		return -ENOMEM;
	refusals->bus = bus;
	*ret = refusals;
	return 0;
}

/* A burst of one event was logged in full at its start. */
static void tell_end(const Burst *burst, const char *message_id, const char *what)
{
	if (burst->n < 2)
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = message_id },
		 "user %ld%s, %s: %s %" PRIu64 " times in %" PRIu64 " s, the first one included",
		 (long)burst->uid, burst->of_many ? " and others" : "", burst->what, what, burst->n,
		 (uint64_t)((burst->last_usec - burst->first_usec + USEC_PER_SEC - 1) /
			    USEC_PER_SEC));
}

static void tell_ended(Refusals *refusals, uint64_t now)
{
	Burst burst;

	while (bursts_take_ended(&refusals->denied, now, &burst))
		tell_end(&burst, LOG_ID_DENIED, "denied");
	while (bursts_take_ended(&refusals->limited, now, &burst))
		tell_end(&burst, LOG_ID_LIMITED, "refused by a limit");
}

static void arm(Refusals *refusals);

static int on_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	tell_ended(userdata, now_monotonic());
	arm(userdata);
	return 0;
}

/* Without memory for a timer, the next refusal logs the end of the burst. */
static void arm(Refusals *refusals)
{
	uint64_t denied = bursts_end_usec(&refusals->denied);
	uint64_t limited = bursts_end_usec(&refusals->limited);
	uint64_t next = denied < limited ? denied : limited;

	if (next == UINT64_MAX)
		return;
	if (!refusals->timer) {
		(void)sd_event_add_time(sd_bus_get_event(refusals->bus), &refusals->timer,
					CLOCK_MONOTONIC, next, ACCURACY_USEC, on_timer, refusals);
		return;
	}
	if (sd_event_source_set_time(refusals->timer, next) >= 0)
		(void)sd_event_source_set_enabled(refusals->timer, SD_EVENT_ONESHOT);
}

/* true: it is the first of its burst. */
static bool note(Refusals *refusals, Bursts *bursts, uid_t uid, const char *what)
{
	uint64_t now = now_monotonic();
	bool first;

	tell_ended(refusals, now);
	first = bursts_note(bursts, uid, what, now);
	/* A later event moves the end of its burst. The timer finds that out when it fires. */
	if (first)
		arm(refusals);
	return first;
}

void refusals_denied(Refusals *refusals, uid_t uid, const char *action, const char *why)
{
	if (note(refusals, &refusals->denied, uid, action))
		log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_DENIED },
			 "user %ld may not %s: %s", (long)uid, action, why);
}

void refusals_left(Refusals *refusals, uid_t uid, const char *action)
{
	if (note(refusals, &refusals->denied, uid, action))
		log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_DENIED },
			 "user %ld left the bus while polkit was asked for %s: denied", (long)uid,
			 action);
}

void refusals_limited(Refusals *refusals, uid_t uid, const char *what)
{
	if (note(refusals, &refusals->limited, uid, what))
		log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_LIMITED },
			 "user %ld met the limit of %s under way: refused", (long)uid, what);
}

int refusals_over_quota(Refusals *refusals, uid_t uid, const Quota *quota, int r, const char *what,
			sd_bus_error *error)
{
	bool of_user = r == -EDQUOT;
	size_t max = of_user ? quota->user_max : quota->all_max;

	refusals_limited(refusals, uid, what);
	return sd_bus_error_setf(error, problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED),
				 "%zu such calls%s are under way already\n"
				 "State:  nothing was changed\nRemedy: try again later",
				 max, of_user ? " of this user" : "");
}

Refusals *refusals_free(Refusals *refusals)
{
	if (!refusals)
		return NULL;
	tell_ended(refusals, UINT64_MAX);
	sd_event_source_disable_unref(refusals->timer);
	free(refusals);
	return NULL;
}
