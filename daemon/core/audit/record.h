/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One record of the audit trail, and the line that it is in a file: core/audit/line.h. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/audit/line.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

#define AUDIT_KINDS(X)                                                                             \
	X(AUDIT_START, "start") /* of gpupassd */                                                  \
	X(AUDIT_STOP, "stop")                                                                      \
	X(AUDIT_CALL, "call")		/* whether a caller may */                                 \
	X(AUDIT_BURST, "burst")		/* how many refusals of a user there were */               \
	X(AUDIT_RESULT, "result")	/* of a call that starts no job */                         \
	X(AUDIT_JOB_BEGUN, "job-begun") /* before its first step */                                \
	X(AUDIT_JOB_ENDED, "job-ended")                                                            \
	X(AUDIT_RESET, "reset")		/* what became of a reset, or was accepted without */      \
	X(AUDIT_RECOVERED, "recovered") /* a job that an earlier daemon left */                    \
	X(AUDIT_QUARANTINED, "quarantined")                                                        \
	X(AUDIT_DRIFT, "drift")                                                                    \
	X(AUDIT_DRIFT_GONE, "drift-gone")                                                          \
	X(AUDIT_FOREIGN, "foreign") /* in a domain that gpupass did not give it to */              \
	X(AUDIT_FOREIGN_GONE, "foreign-gone")                                                      \
	X(AUDIT_BOOT, "boot")	  /* what gpupass-bind reported */                                 \
	X(AUDIT_HOLDER, "holder") /* a process was seen with a device's file open */               \
	X(AUDIT_HOLDER_GONE, "holder-gone")                                                        \
	X(AUDIT_FILE_BEGUN, "file-begun")     /* the first record of each file */                  \
	X(AUDIT_FILE_DROPPED, "file-dropped") /* the oldest, by rotation */                        \
	X(AUDIT_TAIL_MENDED, "tail-mended")   /* the end of a file could not be read at a start */ \
	X(AUDIT_LOST, "lost")		      /* records that could not be written */
DECLARE_ENUM(audit_kind, AuditKind, AUDIT_KINDS);

#define AUDIT_VERDICTS(X)                                                                          \
	X(AUDIT_NO_VERDICT, "none")                                                                \
	X(AUDIT_ALLOWED, "allowed")                                                                \
	X(AUDIT_DENIED, "denied")                                                                  \
	X(AUDIT_LIMITED, "limited")                                                                \
	X(AUDIT_DONE, "done")                                                                      \
	X(AUDIT_UNDONE, "undone")                                                                  \
	X(AUDIT_FAILED, "failed")                                                                  \
	X(AUDIT_INCOMPLETE, "incomplete")
DECLARE_ENUM(audit_verdict, AuditVerdict, AUDIT_VERDICTS);

/* The kernel's value of a login uid that is not set: null in JSON. */
#define AUDIT_NO_UID ((uint32_t)-1)

/* What is not known, or does not apply, is NULL, AUDIT_NO_UID or -1, and null in JSON. */
typedef struct AuditRecord {
	uint64_t sequence; /* from 1, one more than that of the record before */
	uint64_t time_usec;
	char *boot_id _json_(or_null);
	AuditKind kind _json_(wrong "is no kind of record");
	AuditVerdict verdict _json_(wrong "is no verdict");
	/* The caller; of a holder the process that was seen. */
	uint32_t uid, login_uid _json_(id);
	int pid _json_(index, or_null);
	char *unit, *command _json_(or_null);
	char *verb _json_(or_null); /* "Assign": the method; of a job "assign" */
	char *group _json_(or_null);
	char **functions;
	char *domain_uuid, *domain _json_(or_null);
	char *error _json_(or_null); /* the name on D-Bus */
	char *reason _json_(or_null);
	uint32_t job; /* 0: none */
	/* of a burst, or of what was lost; the first sequence left, of a dropped file */
	uint64_t count;
	char *previous;
} AuditRecord;
DECLARE_CLEAR(AuditRecord, audit_record_clear)

#define AUDIT_RECORD_EMPTY                                                                         \
	((AuditRecord){ .uid = AUDIT_NO_UID, .login_uid = AUDIT_NO_UID, .pid = -1 })

/*
 * For text that others chose: a copy without control characters, cut to what a record takes. Like
 * xstrdup(), but NULL and "" give NULL.
 */
char *audit_text(const char *text);

/* No record is longer. */
#define AUDIT_LINE_MAX 16384U

/* The line with its newline. */
char *audit_line(const AuditRecord *record, LineHash *ret_hash);
/*
 * `line` of `size` bytes is without its newline. -EBADMSG: it is not one of ours. -EPROTO: another
 * version's. *ret_hash is what the line says, if it says one; *ret_intact: and that is the hash of
 * its bytes.
 */
int audit_line_parse(const char *line, size_t size, AuditRecord *ret, LineHash *ret_hash,
		     bool *ret_intact);

/* The record as an object, with its "hash". */
json_t *audit_record_to_json(const AuditRecord *record, const LineHash *hash);

/* ---- which records of the trail somebody asks for ---- */

/* Borrows its strings. Zero and NULL: any. */
typedef struct AuditQuery {
	uint64_t since_usec, until_usec;
	uint64_t after; /* a sequence number: only later records */
	const char *group;
	const char *domain; /* a UUID, or else a name */
	bool by_user;
	uint32_t user; /* the uid or the login uid */
	uint32_t job;
	bool holders; /* only those of holders */
} AuditQuery;

bool audit_query_matches(const AuditQuery *query, const AuditRecord *record);
