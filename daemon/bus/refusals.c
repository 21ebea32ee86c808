/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/refusals.h"

#include <inttypes.h>
#include <systemd/sd-event.h>

#include "bus/bursts.h"
#include "core/base/problem.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

/* How late the line at the end of a burst may be. */
#define ACCURACY_USEC USEC_PER_SEC

struct Refusals {
	sd_bus *bus;
	Intake *intake;
	Trail *trail;
	sd_event_source *timer; /* NULL: never needed yet */
	Bursts denied, limited;
	Bursts floods; /* what the intake refuses: recorded only */
	RefusalCounts counts;
};

static void on_refused(sd_bus_message *call, uid_t uid, const char *why, void *userdata);

int refusals_new(sd_bus *bus, Intake *intake, Trail *trail, Refusals **ret)
{
	Refusals *refusals = calloc(1, sizeof(Refusals));

	if (!refusals)
		return -ENOMEM;
	refusals->bus = bus;
	refusals->intake = intake;
	refusals->trail = trail;
	intake_on_refused(intake, on_refused, refusals);
	*ret = refusals;
	return 0;
}

static uint64_t seconds_of(const Burst *burst)
{
	return (burst->last_usec - burst->first_usec + USEC_PER_SEC - 1) / USEC_PER_SEC;
}

/* A burst of one event was recorded in full at its start. */
static void record_end(Refusals *refusals, const Burst *burst, AuditVerdict verdict)
{
	_cleanup_free_ char *text = NULL;
	AuditRecord record = AUDIT_RECORD_EMPTY;

	if (burst->n < 2)
		return;
	text = strf("%s: %" PRIu64 " times in %" PRIu64 " s, the first one included%s", burst->what,
		    burst->n, seconds_of(burst), burst->of_many ? ", by this user and others" : "");
	record.kind = AUDIT_BURST;
	record.verdict = verdict;
	record.uid = burst->uid;
	record.count = burst->n;
	record.reason = audit_text(text);
	trail_add(refusals->trail, &record, NULL);
}

/* A burst of one event was logged in full at its start. */
static void tell_end(const Burst *burst, const char *message_id, const char *what)
{
	if (burst->n < 2)
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = message_id },
		 "user %ld%s, %s: %s %" PRIu64 " times in %" PRIu64 " s, the first one included",
		 (long)burst->uid, burst->of_many ? " and others" : "", burst->what, what, burst->n,
		 seconds_of(burst));
}

static void tell_ended(Refusals *refusals, uint64_t now)
{
	Burst burst;

	while (bursts_take_ended(&refusals->denied, now, &burst)) {
		tell_end(&burst, LOG_ID_DENIED, "denied");
		record_end(refusals, &burst, AUDIT_DENIED);
	}
	while (bursts_take_ended(&refusals->limited, now, &burst)) {
		tell_end(&burst, LOG_ID_LIMITED, "refused by a limit");
		record_end(refusals, &burst, AUDIT_LIMITED);
	}
	while (bursts_take_ended(&refusals->floods, now, &burst))
		record_end(refusals, &burst, AUDIT_LIMITED);
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
	const Bursts *all[] = { &refusals->denied, &refusals->limited, &refusals->floods };
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < ELEMENTS(all); i++)
		if (bursts_end_usec(all[i]) < next)
			next = bursts_end_usec(all[i]);
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

	*(bursts == &refusals->denied ? &refusals->counts.denied : &refusals->counts.limited) += 1;
	tell_ended(refusals, now);
	first = bursts_note(bursts, uid, what, now);
	/* A later event moves the end of its burst. The timer finds that out when it fires. */
	if (first)
		arm(refusals);
	return first;
}

void refusals_denied(Refusals *refusals, const Decision *decision, const char *error,
		     const char *why)
{
	if (!note(refusals, &refusals->denied, decision->uid, decision->action))
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_DENIED }, "user %ld may not %s: %s",
		 (long)decision->uid, decision->action, why);
	decision_record(refusals->trail, refusals->intake, decision, AUDIT_DENIED, error, why);
}

void refusals_left(Refusals *refusals, const Decision *decision)
{
	if (!note(refusals, &refusals->denied, decision->uid, decision->action))
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_DENIED },
		 "user %ld left the bus while polkit was asked for %s: denied", (long)decision->uid,
		 decision->action);
	decision_record(refusals->trail, refusals->intake, decision, AUDIT_DENIED, NULL,
			"the caller left the bus while polkit was asked");
}

static void record_limited(Refusals *refusals, const Decision *decision)
{
	_cleanup_free_ char *reason = strf("the limit of %s under way", decision->action);

	decision_record(refusals->trail, refusals->intake, decision, AUDIT_LIMITED,
			problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED), reason);
}

void refusals_limited(Refusals *refusals, const Decision *decision)
{
	if (!note(refusals, &refusals->limited, decision->uid, decision->action))
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_LIMITED },
		 "user %ld met the limit of %s under way: refused", (long)decision->uid,
		 decision->action);
	record_limited(refusals, decision);
}

/* In a flood this is the path of many messages. */
static void on_refused(sd_bus_message *call, uid_t uid, const char *why, void *userdata)
{
	Refusals *refusals = userdata;

	if (note(refusals, &refusals->floods, uid, why))
		decision_record(refusals->trail, refusals->intake,
				&(Decision){ .call = call, .uid = uid }, AUDIT_LIMITED,
				problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED), why);
}

int refusals_over_quota(Refusals *refusals, const Decision *decision, const Quota *quota, int r,
			sd_bus_error *error)
{
	bool of_user = r == -EDQUOT;
	size_t max = of_user ? quota->user_max : quota->all_max;

	refusals_limited(refusals, decision);
	return sd_bus_error_setf(error, problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED),
				 "%zu such calls%s are under way already\n"
				 "State:  nothing was changed\nRemedy: try again later",
				 max, of_user ? " of this user" : "");
}

RefusalCounts refusals_counts(const Refusals *refusals)
{
	return refusals->counts;
}

Refusals *refusals_free(Refusals *refusals)
{
	if (!refusals)
		return NULL;
	tell_ended(refusals, UINT64_MAX);
	intake_on_refused(refusals->intake, NULL, NULL);
	sd_event_source_disable_unref(refusals->timer);
	free(refusals);
	return NULL;
}
