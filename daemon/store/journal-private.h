/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of the journal. */
#pragma once

#include "store/ledger.h"

/* store/journal.h has them. */
typedef struct Journal Journal;
typedef struct JournalFile JournalFile;
typedef struct JournalJob JournalJob;

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
