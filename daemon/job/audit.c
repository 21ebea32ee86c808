/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/audit.h"

#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/* How long taking hardware back may wait for its record. */
#define PATIENCE_USEC (5 * USEC_PER_SEC)

static void fill(const Plan *plan, AuditRecord *record)
{
	record->kind = AUDIT_JOB_BEGUN;
	record->verb = audit_text(operation_to_string(plan->operation));
	record->group = audit_text(plan->group);
	record->domain_uuid = audit_text(plan->domain_uuid);
	record->domain = audit_text(plan->domain_name);
	for (size_t i = 0; i < plan->n_functions; i++)
		strv_append(&record->functions, BDF_TEXT(&plan->functions[i].bdf));
}

static bool takes_back(Operation operation)
{
	return operation == OPERATION_RELEASE || operation == OPERATION_UNBIND;
}

int audit_job_begun(const JobPlace *place, const Prepared *prepared, uint32_t job,
		    Problem **ret_problem)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;
	int r;

	record.job = job;
	record.uid = prepared->request.caller_uid;
	fill(prepared->plan, &record);
	if (takes_back(prepared->plan->operation)) {
		/* Waits for the disk, but not for one that does not answer. */
		trail_add_lazily(place->trail, &record, prepared->caller);
		(void)trail_flush(place->trail, PATIENCE_USEC);
		return 0;
	}
	r = trail_append(place->trail, &record, prepared->caller);
	return r < 0 ? disk_watch_refuse(place->disk, "the audit trail", "audit/", r, ret_problem)
		     : 0;
}
