/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of the journal: what is read, now and of the versions before. */
#pragma once

#include "store/ledger.h"

/* store/journal.h has them. */
typedef struct Journal Journal;
typedef struct JournalFile JournalFile;
typedef struct JournalJob JournalJob;
typedef struct JournalFound JournalFound;
typedef struct OpenJob OpenJob;

/* Room for two definitions (DOMAIN_XML_MAX) and a running domain's XML (DOMAIN_SKIM_MAX), escaped,
 * and the rest. */
#define JOURNAL_LINE_MAX (128U * 1024 * 1024)
#define JOURNAL_BEFORE_SUFFIX ".journal"

/* What was found in a file, of its last job. */
typedef struct JournalReading {
	JournalFound *found; /* borrowed: what is found of jobs that have ended is added to it */
	const char *boot_id; /* borrowed; as in Journal */
	bool before;	     /* it is of a version before */
	OpenJob *job;	     /* NULL: it has ended, or cannot be understood */
	LedgerMark end;
	size_t lines;
	size_t torn; /* bytes of a last line that was cut off */
	int error;   /* of what cannot be understood: -EBADMSG, -EPROTO and the like; 0: all can */
	char *message; /* why; NULL: as the error says */
	char *bad;     /* these bytes; NULL: they could not be read */
	size_t n_bad;
} JournalReading;

/* Of any version. */
void journal_read(const Journal *journal, const char *name, JournalReading *reading);
void journal_reading_clear(JournalReading *reading);

/* What a file is from now on. Does nothing for a file of the versions before: its number is 0. */
void journal_set_file(Journal *journal, uint64_t number, const JournalFile *is);
/* Durably; it is free then. */
int journal_remove_file(Journal *journal, const char *name, uint64_t number);
/* Of its name. */
uint64_t journal_number_of(const char *name);
/*
 * Opens the file of a job, and takes back what is behind its whole lines. may_be_read_only: where
 * that fails nothing can be added to it, and each write says so.
 */
int journal_job_open(Journal *journal, const char *name, const LedgerMark *end, uint32_t id,
		     bool may_be_read_only, JournalJob **ret);
