/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of the journal: what is read, now and of the versions before. */
#pragma once

#include <jansson.h>

#include "store/ledger.h"

/* store/journal.h has them. */
typedef struct Journal Journal;
typedef struct JournalFile JournalFile;
typedef struct JournalJob JournalJob;
typedef struct OpenJob OpenJob;

/* Room for two definitions (DOMAIN_XML_MAX) and a running domain's XML (DOMAIN_SKIM_MAX), escaped,
 * and the rest. */
#define JOURNAL_LINE_MAX (128U * 1024 * 1024)
#define JOURNAL_BEFORE_SUFFIX ".journal"

/* What was found in a file, of its last job. */
typedef struct JournalReading {
	const char *boot_id; /* borrowed; as in Journal */
	OpenJob *job;	     /* NULL: it has ended, or cannot be understood */
	LedgerMark end;
	size_t lines;
	size_t torn; /* bytes of a last line that was cut off */
	int error;   /* of what cannot be understood: -EBADMSG, -EPROTO and the like; 0: all can */
	char *message; /* why; NULL: as the error says */
	char *bad;     /* these bytes; NULL: they could not be read */
	size_t n_bad;
	uint32_t *ended, last;
	size_t n_ended;
} JournalReading;

void journal_read(int dir_fd, const char *name, JournalReading *reading);
/* The same of a file of the versions before, which has one job. */
void journal_read_before(int dir_fd, const char *name, JournalReading *reading);
void journal_reading_clear(JournalReading *reading);
/* Notes what is wrong with a line, and its bytes. */
void journal_note_bad(JournalReading *reading, int error, const char *message, const char *bytes,
		      size_t size);

/* The facts of a begin, of any version. -EBADMSG with a message. */
int journal_read_begin(const json_t *record, const char *before_member, OpenJob *job,
		       const char *boot_id, char **ret_message);
/* 1: the job has ended. -EBADMSG: no such record can be. */
int journal_read_step(const json_t *record, OpenJob *job);

/* What a file is from now on. Does nothing for a file of the versions before, which has no number. */
void journal_set_file(Journal *journal, uint64_t number, const JournalFile *is);
/* Durably; it is free then. */
void journal_remove_file(Journal *journal, const char *name, uint64_t number, int *ret_error);
/* Of its name. */
uint64_t journal_number_of(const char *name);
/*
 * Opens the file of a job, and takes back what is behind its whole lines. may_be_read_only: where
 * that fails nothing can be added to it, and each write says so.
 */
int journal_job_open(Journal *journal, const char *name, const LedgerMark *end, uint32_t id,
		     bool may_be_read_only, JournalJob **ret);
