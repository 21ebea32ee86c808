/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a caller may, as a record of the audit trail. */
#pragma once

#include "bus/callers.h"
#include "store/trail.h"

/* All borrowed. What is asked of polkit is one without its call and caller, which polkit.c adds. */
typedef struct Decision {
	sd_bus_message *call;
	Caller caller;
	const char *action;		     /* a GPUPASS_ACTION_…, or what the limit is on */
	const char *domain, *group, *target; /* NULL: none; a name, or the caller's word for one */
	const char *domain_uuid;	     /* NULL: there is no such domain */
	uint32_t job;			     /* that is to be cancelled; 0: none */
} Decision;
/* A release names a domain or a group. */
const char *decision_domain(const Decision *decision);

/* reason: NULL, or why. trail: NULL, or where it goes; it never waits. */
void decision_record(Trail *trail, const Decision *decision, AuditVerdict verdict,
		     const char *error, const char *reason);
/* How a call ended that starts no job. job: it was about; 0: none. error, message: NULL: well. */
void decision_record_result(Trail *trail, sd_bus_message *call, const Caller *caller, uint32_t job,
			    const char *error, const char *message);

/*
 * Logs what polkit or a limit refused, and records it in the audit trail. So that a loop pushes
 * nothing else out of either, only the first refusals of a user are told in full; of the others the
 * number is, now and then.
 */
typedef struct Refusals {
	Trail *trail; /* NULL: none is kept */
	/* Since a time, of the users whose uids share a place. */
	struct Burst {
		uint64_t n, begin_usec;
	} bursts[64];
	/* Since the start, each call: by polkit, and by a limit on what is under way. */
	uint64_t denied, limited;
} Refusals;

/* polkit denied the action, a GPUPASS_ACTION_…; `why` is for the log. */
void refusals_denied(Refusals *refusals, const Decision *decision, const char *error,
		     const char *why);
/* The user has reached a limit on the decision's action, a constant: "looks and dry runs". */
void refusals_limited(Refusals *refusals, const Decision *decision);
/* The same, with *error for the caller: the user has max such calls under way. */
int refusals_over_limit(Refusals *refusals, const Decision *decision, size_t max,
			sd_bus_error *error);
