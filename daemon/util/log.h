/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log: the journal if it listens, otherwise standard error; log_open() decides once. A
 * function logs or returns its error, never both.
 *
 * Both may block. So the daemon calls log_start(), and from then on a thread of the log's own
 * writes the lines, in their order. If it does not keep up, lines are dropped, and the log says how
 * many.
 */
#pragma once

#include <stdint.h>
#include <syslog.h>

#include "gpupass/cleanup.h"

/*
 * MESSAGE_IDs, so that monitoring can match without reading English. Each has its entry in
 * conf/gpupass.catalog, with cause and remedy.
 */
#define LOG_ID_JOB_DONE "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f01"
#define LOG_ID_JOB_FAILED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f02"
#define LOG_ID_QUARANTINED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f03"
#define LOG_ID_RECOVERED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f07"
#define LOG_ID_NOT_RECOVERED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f08"
#define LOG_ID_CLEARED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f09"
#define LOG_ID_NOT_READ "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f0a"
#define LOG_ID_NOT_WRITTEN "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f0b"
#define LOG_ID_NO_MOVER "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f0c"
#define LOG_ID_JOB_CANCELLED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f0d"
#define LOG_ID_RESET "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f11"
#define LOG_ID_RESET_FAILED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f12"
#define LOG_ID_NOT_RESET "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f13"
#define LOG_ID_ACCEPTED_DIRTY "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f14"
#define LOG_ID_DRIFT "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f21"
#define LOG_ID_DRIFT_GONE "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f22"
#define LOG_ID_NOT_ADOPTED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f23"
#define LOG_ID_CONFIG_ERROR "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f04"
#define LOG_ID_DENIED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f05"
#define LOG_ID_LIMITED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f06"
#define LOG_ID_FENCED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f41"
#define LOG_ID_FOREIGN "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f42"
#define LOG_ID_FOREIGN_GONE "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f43"
#define LOG_ID_AUDIT "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f51"
#define LOG_ID_AUDIT_FAILED "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f52"
#define LOG_ID_NOT_BOUND "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f61"
#define LOG_ID_GPU_LOST "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f71"
#define LOG_ID_GPU_BACK "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f72"
#define LOG_ID_GUEST_WORD "3f0d5b1c6a0e4f0ba3d05b8f5c1c6f73"

/* What a line is about; any field may be left out. */
typedef struct LogFields {
	const char *message_id;
	const char *group;
	const char *domain;
	const char *domain_uuid;
	const char *functions; /* BDFs, separated by commas */
	uint32_t job;	       /* 0: none */
	uint32_t uid;	       /* of the caller; meaningful with a job */
} LogFields;

/* to_journal: standard error is connected to the journal. Lines above max_level are dropped. */
void log_open(bool to_journal, int max_level);

/* Call it before other threads log. Without it lines are written at once. */
int log_start(void);

/* Waits until everything is written, or until the timeout: at the end of the process. */
void log_flush(uint64_t timeout_usec);

void log_line(int level, const LogFields *fields, const char *format, ...) _printf_(3, 4);

/* A record of the audit trail. Text that is NULL or empty, and a uid or pid of -1, is left out. */
typedef struct LogAudit {
	const char *kind, *verdict, *verb, *reason, *error, *unit, *command, *hash;
	uint64_t sequence;
	uint32_t uid, login_uid;
	int pid;
} LogAudit;

/* Only to the journal, and whatever the level: what a person needs to read has its own line. */
void log_audit(const LogFields *fields, const LogAudit *audit);

/* A line that has an id, and no other field. */
#define log_as(level, id, ...) log_line(level, &(LogFields){ .message_id = (id) }, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERR, NULL, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, NULL, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, NULL, __VA_ARGS__)
