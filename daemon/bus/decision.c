/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/decision.h"

#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

void decision_record(Trail *trail, const Decision *decision, AuditVerdict verdict,
		     const char *error, const char *reason)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = AUDIT_CALL;
	record.verdict = verdict;
	record.uid = decision->caller.uid;
	record.verb = audit_text(sd_bus_message_get_member(decision->call));
	record.job = decision->job;
	record.group = audit_text(decision->group);
	record.domain = audit_text(decision->domain);
	record.domain_uuid = audit_text(decision->domain_uuid);
	record.error = audit_text(error);
	record.reason = audit_text(reason);
	/* What it allows is followed by how that ended. */
	if (verdict == AUDIT_ALLOWED)
		trail_add_lazily(trail, &record, decision->caller.identity);
	else
		trail_add(trail, &record, decision->caller.identity);
}

/* Such calls have one name first, which is a group's, or the new one's, or a job's number. */
static char *group_of(sd_bus_message *call)
{
	const char *name = NULL;

	if (!sd_bus_message_has_signature(call, "sa{sv}") &&
	    !sd_bus_message_has_signature(call, "sasa{sv}"))
		return NULL;
	if (sd_bus_message_rewind(call, true) < 0 || sd_bus_message_read(call, "s", &name) < 0)
		return NULL;
	return audit_text(name);
}

void decision_record_result(Trail *trail, sd_bus_message *call, const Caller *caller, uint32_t job,
			    const char *error, const char *message)
{
	_cleanup_free_ char *line = message ? xstrndup(message, strcspn(message, "\n")) : NULL;
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = AUDIT_RESULT;
	record.verdict = error ? AUDIT_FAILED : AUDIT_DONE;
	record.uid = caller->uid;
	record.verb = audit_text(sd_bus_message_get_member(call));
	record.job = job;
	record.group = group_of(call);
	record.error = audit_text(error);
	record.reason = audit_text(line);
	trail_add(trail, &record, caller->identity);
}
