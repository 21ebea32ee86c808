/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/decision.h"

#include <inttypes.h>

#include "core/base/problem.h"
#include "manager/audit.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

/* So many refusals of a user are told in full in such a time; then one in 100, 1000 and so on. */
#define FULL_MAX 10
#define PERIOD_USEC (600 * USEC_PER_SEC)

const char *decision_domain(const Decision *decision)
{
	return decision->domain ? decision->domain : decision->target;
}

void decision_record(Trail *trail, const Decision *decision, AuditVerdict verdict,
		     const char *error, const char *reason)
{
	AuditRecord record = audit_record_about(AUDIT_CALL, decision->group, decision->domain_uuid,
						decision_domain(decision), reason);

	record.verdict = verdict;
	record.uid = decision->caller.uid;
	record.verb = audit_text(sd_bus_message_get_member(decision->call));
	record.job = decision->job;
	record.error = audit_text(error);
	/* What it allows is followed by how that ended. */
	if (verdict == AUDIT_ALLOWED)
		trail_add_lazily(trail, &record, decision->caller.identity);
	else
		trail_add(trail, &record, decision->caller.identity);
}

/* Such calls have one name first, which is a group's, or the new one's, or a job's number. */
static const char *group_of(sd_bus_message *call)
{
	const char *name = NULL;

	if (!sd_bus_message_has_signature(call, "sa{sv}") &&
	    !sd_bus_message_has_signature(call, "sasa{sv}"))
		return NULL;
	if (sd_bus_message_rewind(call, true) < 0 || sd_bus_message_read(call, "s", &name) < 0)
		return NULL;
	return name;
}

void decision_record_result(Trail *trail, sd_bus_message *call, const Caller *caller, uint32_t job,
			    const char *error, const char *message)
{
	_cleanup_free_ char *line = message ? xstrndup(message, strcspn(message, "\n")) : NULL;
	AuditRecord record = audit_record_about(AUDIT_RESULT, group_of(call), NULL, NULL, line);

	record.verdict = error ? AUDIT_FAILED : AUDIT_DONE;
	record.uid = caller->uid;
	record.verb = audit_text(sd_bus_message_get_member(call));
	record.job = job;
	record.error = audit_text(error);
	trail_add(trail, &record, caller->identity);
}

/* ---- refusals ---- */

static void tell_number(Refusals *refusals, uid_t uid, uint64_t n)
{
	_cleanup_free_ char *text = strf("refused %" PRIu64 " times within ten minutes", n);
	AuditRecord record = audit_record_about(AUDIT_BURST, NULL, NULL, NULL, text);

	log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_DENIED }, "user %ld: %s", (long)uid,
		 text);
	record.verdict = AUDIT_DENIED;
	record.uid = uid;
	record.count = n;
	trail_add(refusals->trail, &record, NULL);
}

static bool is_power_of_ten(uint64_t n)
{
	while (n > 1 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

/* true: it is to be told in full. */
static bool count(Refusals *refusals, uint64_t *counter, uid_t uid)
{
	struct Burst *burst = &refusals->bursts[uid % ELEMENTS(refusals->bursts)];
	uint64_t now = now_monotonic();

	++*counter;
	if (burst->n == 0 || now > burst->begin_usec + PERIOD_USEC)
		*burst = (struct Burst){ .begin_usec = now };
	if (++burst->n <= FULL_MAX)
		return true;
	if (is_power_of_ten(burst->n))
		tell_number(refusals, uid, burst->n);
	return false;
}

void refusals_denied(Refusals *refusals, const Decision *decision, const char *error,
		     const char *why)
{
	uid_t uid = decision->caller.uid;

	if (!count(refusals, &refusals->denied, uid))
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_DENIED }, "user %ld may not %s: %s",
		 (long)uid, decision->action, why);
	decision_record(refusals->trail, decision, AUDIT_DENIED, error, why);
}

void refusals_limited(Refusals *refusals, const Decision *decision)
{
	_cleanup_free_ char *reason = NULL;
	uid_t uid = decision->caller.uid;

	if (!count(refusals, &refusals->limited, uid))
		return;
	log_line(LOG_NOTICE, &(LogFields){ .message_id = LOG_ID_LIMITED },
		 "user %ld met the limit of %s under way: refused", (long)uid, decision->action);
	reason = strf("the limit of %s under way", decision->action);
	decision_record(refusals->trail, decision, AUDIT_LIMITED,
			problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED), reason);
}

int refusals_over_limit(Refusals *refusals, const Decision *decision, size_t max,
			sd_bus_error *error)
{
	refusals_limited(refusals, decision);
	return sd_bus_error_setf(error, problem_dbus_name(GPUPASS_ERROR_LIMITS_EXCEEDED),
				 "%zu such calls of this user are under way already\n"
				 "State:  nothing was changed\nRemedy: try again later",
				 max);
}
