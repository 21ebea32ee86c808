/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a caller may, as a record of the audit trail. */
#pragma once

#include "bus/callers.h"
#include "store/trail.h"

/* All borrowed. */
typedef struct Decision {
	sd_bus_message *call;
	Caller caller;
	const char *action;		  /* a GPUPASS_ACTION_…, or what the limit is on */
	const char *group;		  /* NULL: none */
	const char *domain, *domain_uuid; /* likewise; a name, or the caller's word for one */
	uint32_t job;			  /* that is to be cancelled; 0: none */
} Decision;

/* reason: NULL, or why. trail: NULL, or where it goes; it never waits. */
void decision_record(Trail *trail, const Decision *decision, AuditVerdict verdict,
		     const char *error, const char *reason);
/* How a call ended that starts no job. job: it was about; 0: none. error, message: NULL: well. */
void decision_record_result(Trail *trail, sd_bus_message *call, const Caller *caller, uint32_t job,
			    const char *error, const char *message);
