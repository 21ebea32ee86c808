/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/audit.h"

#include "manager/state.h"
#include "util/xalloc.h"

Trail *manager_trail(const Manager *m)
{
	return m->place.job.trail;
}

uint64_t manager_audit_sequence(const Manager *m)
{
	return trail_sequence(m->place.job.trail);
}

void manager_audit_written(Manager *m)
{
	m->listener.audit_written(m->listener.userdata);
}

AuditRecord audit_record_about(AuditKind kind, const char *group, const char *domain_uuid,
			       const char *domain, const char *reason)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = kind;
	record.group = audit_text(group);
	record.domain_uuid = audit_text(domain_uuid);
	record.domain = audit_text(domain);
	record.reason = audit_text(reason);
	return record;
}

static void add_functions(AuditRecord *record, const Bdf *functions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strv_append(&record->functions, BDF_TEXT(&functions[i]));
}

static AuditRecord record_of_job(const JobRecord *job, AuditKind kind, const char *reason)
{
	AuditRecord record =
		audit_record_about(kind, job->group, job->domain_uuid, job->domain_name, reason);

	record.uid = job->caller_uid;
	record.job = job->id;
	record.verb = audit_text(operation_to_string(job->operation));
	add_functions(&record, job->functions, job->n_functions);
	return record;
}

void audit_job_ended(Manager *m, const JobRecord *job, AuditVerdict verdict, const char *quarantine)
{
	/* The whole message has lines for a person: cause, state, remedy. */
	_cleanup_free_ char *line = xstrndup(job->message, strcspn(job->message, "\n"));
	AuditRecord record = record_of_job(job, AUDIT_JOB_ENDED, line);

	record.verdict = verdict;
	record.error = audit_text(job->error_name);
	if (verdict == AUDIT_DONE && !record.reason && !job->changed)
		record.reason = audit_text("nothing was changed");
	trail_add(m->place.job.trail, &record, job->caller);
	if (!quarantine)
		return;
	record = record_of_job(job, AUDIT_QUARANTINED, quarantine);
	trail_add(m->place.job.trail, &record, job->caller);
}

void audit_reset(Manager *m, const JobRecord *job, const char *text, AuditVerdict verdict)
{
	AuditRecord record = record_of_job(job, AUDIT_RESET, text);

	record.verdict = verdict;
	trail_add_lazily(m->place.job.trail, &record, job->caller);
}

void audit_drift(Manager *m, const DriftFinding *finding, bool gone)
{
	AuditRecord record =
		audit_record_about(gone ? AUDIT_DRIFT_GONE : AUDIT_DRIFT, finding->group,
				   finding->domain_uuid, finding->domain_name, finding->what);

	add_functions(&record, finding->functions, finding->n_functions);
	trail_add(m->place.job.trail, &record, NULL);
}

void audit_foreign(Manager *m, const FenceFinding *finding, bool gone)
{
	AuditRecord record =
		audit_record_about(gone ? AUDIT_FOREIGN_GONE : AUDIT_FOREIGN, finding->group,
				   finding->domain_uuid, finding->domain_name, finding->what);

	strv_split(finding->functions, ",", &record.functions);
	trail_add(m->place.job.trail, &record, NULL);
}

void audit_boot_fault(Manager *m, const BootFault *fault)
{
	_cleanup_free_ char *text = boot_fault_text(fault);
	AuditRecord record = audit_record_about(AUDIT_BOOT, NULL, NULL, NULL, text);

	record.verdict = AUDIT_FAILED;
	add_functions(&record, &fault->bdf, 1);
	trail_add(m->place.job.trail, &record, NULL);
}

void audit_recovered(Manager *m, const OpenJob *job, const Recovery *recovery, AuditVerdict verdict)
{
	const Plan *plan = job->plan;
	AuditRecord record = audit_record_about(AUDIT_RECOVERED, plan->group, plan->domain_uuid,
						plan->domain_name, recovery->reason);

	record.verdict = verdict;
	record.job = job->id;
	record.verb = audit_text(operation_to_string(plan->operation));
	for (size_t i = 0; i < plan->n_functions; i++)
		add_functions(&record, &plan->functions[i].bdf, 1);
	trail_add(m->place.job.trail, &record, NULL);
	if (recovery->outcome != RECOVERED_QUARANTINED)
		return;
	record = audit_record_about(AUDIT_QUARANTINED, plan->group, plan->domain_uuid,
				    plan->domain_name, recovery->reason);
	record.job = job->id;
	trail_add(m->place.job.trail, &record, NULL);
}

void audit_end_unknown(Manager *m, const AuditRecord *begun, const char *reason)
{
	AuditRecord record = audit_record_about(AUDIT_JOB_ENDED, begun->group, begun->domain_uuid,
						begun->domain, reason);

	record.job = begun->job;
	record.verb = xstrdup(begun->verb);
	strv_copy(begun->functions, &record.functions);
	trail_add(m->place.job.trail, &record, NULL);
}
