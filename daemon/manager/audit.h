/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the manager decides or sees, as records of the audit trail */
#pragma once

#include "core/drift/drift.h"
#include "core/facts/boot-faults.h"
#include "core/fence/report.h"
#include "job/recover.h"
#include "manager/types.h"

/* The trail, for the rooms above. NULL: none is kept. */
Trail *manager_trail(const Manager *m);
/* The sequence number of the last record; 0: none. */
uint64_t manager_audit_sequence(const Manager *m);
/* On the loop, after a record was written. */
void manager_audit_written(Manager *m);

/* A record with copies of these, of what may be NULL. */
AuditRecord audit_record_about(AuditKind kind, const char *group, const char *domain_uuid,
			       const char *domain, const char *reason);

/* quarantine: why its group is quarantined; NULL: it is not. */
void audit_job_ended(Manager *m, const JobRecord *job, AuditVerdict verdict,
		     const char *quarantine);
/* What became of a reset, or was accepted without one. */
void audit_reset(Manager *m, const JobRecord *job, const char *text, AuditVerdict verdict);
void audit_drift(Manager *m, const DriftFinding *finding, bool gone);
/* A domain has a group, or a part of it, that gpupass did not give it; or has it no longer. */
void audit_foreign(Manager *m, const FenceFinding *finding, bool gone);
void audit_boot_fault(Manager *m, const BootFault *fault);
/* The trail says that it was begun, and nobody knows how it ended. `reason` says why. */
void audit_end_unknown(Manager *m, const AuditRecord *begun, const char *reason);
/* On a thread, too. */
void audit_recovered(Manager *m, const OpenJob *job, const Recovery *recovery,
		     AuditVerdict verdict);
