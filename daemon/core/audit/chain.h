/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a trail is whole. Feed it the lines of all files, oldest first, then ask for the report.
 *
 * It finds every record that was changed, taken out, put elsewhere or put in. It cannot find two
 * things: that the end was cut off, and that everything from some record on was written anew. For
 * both, the hash of a late record must have been noted elsewhere: see `expect`.
 */
#pragma once

#include <jansson.h>

#include "core/audit/record.h"

#define AUDIT_FAULTS(X)                                                                            \
	X(AUDIT_FAULT_UNREADABLE, "unreadable") /* a line that is none of ours */                  \
	X(AUDIT_FAULT_CHANGED, "changed")                                                          \
	X(AUDIT_FAULT_REMOVED, "removed")                                                          \
	X(AUDIT_FAULT_REORDERED, "reordered")                                                      \
	X(AUDIT_FAULT_TWICE, "twice")	  /* a sequence number stands twice */                     \
	X(AUDIT_FAULT_CUT_OFF, "cut-off") /* the expected hash is not there */
DECLARE_ENUM(audit_fault, AuditFault, AUDIT_FAULTS);

typedef struct AuditFinding {
	AuditFault fault;
	uint64_t first, last; /* sequence numbers; 0: not known */
	uint64_t file, line;  /* where it shows; 0: nowhere */
} AuditFinding;

/* Of one tampered file there may be very many. */
#define AUDIT_FINDINGS_MAX 100

typedef struct AuditReport {
	AuditFinding *findings; /* the first of them */
	size_t n_findings, all_findings;
	uint64_t n_records;
	uint64_t first, last; /* sequence numbers; 0: there is no record */
	LineHash last_hash;
	uint64_t lost;	 /* records that were never written, as other records say */
	uint64_t mended; /* starts that found an end which could not be read */
	bool torn;	 /* the last line is not whole, as a write that was cut off leaves it */
	bool dropped;	 /* rotation has dropped older files, as a record says */
	uint64_t behind; /* how many records stand behind the expected one */
} AuditReport;
DECLARE_CLEAR(AuditReport, audit_report_clear)

typedef struct AuditChain AuditChain;
DECLARE_FREE(AuditChain, audit_chain_free)

DECLARE_NEW(AuditChain, audit_chain_new)
/* One line without its newline. `whole` is false for bytes at a file's end without one. */
void audit_chain_add(AuditChain *chain, uint64_t file, const char *line, size_t size, bool whole);
/* expect: a hash that was noted earlier; NULL: none. */
AuditReport audit_chain_report(AuditChain *chain, const char *expect);
/* Schema org.gpupass1.audit-check/1. */
json_t *audit_report_to_json(const AuditReport *report);
/* One line for a person. */
char *audit_finding_text(const AuditFinding *finding);
