/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/audit.h"

#include <errno.h>
#include <string.h>

#include "util/text.h"

static int fill(const Plan *plan, AuditRecord *record)
{
	record->kind = AUDIT_JOB_BEGUN;
	record->verb = audit_text(operation_to_string(plan->operation));
	record->group = audit_text(plan->group);
	record->domain_uuid = audit_text(plan->domain_uuid);
	record->domain = audit_text(plan->domain_name);
	for (size_t i = 0; i < plan->n_functions; i++)
		if (strv_append(&record->functions, BDF_TEXT(&plan->functions[i].bdf)) < 0)
			return -ENOMEM;
	return record->verb && record->group ? 0 : -ENOMEM;
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
	r = fill(prepared->plan, &record);
	if (r < 0)
		audit_record_clear(&record);
	else
		r = trail_add_durably(place->trail, &record, prepared->caller);
	if (r >= 0 || takes_back(prepared->plan->operation))
		return 0;
	disk_watch_note(place->disk, "the audit trail", r);
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_STATE_READ_ONLY,
		.reason = strf("the audit trail cannot be written: %s", strerror(-r)),
		.cause = strdup("nothing is given away that is not on record"),
		.remedy = strdup("see that the file system of the state directory is writable and "
				 "has space left"));
}
