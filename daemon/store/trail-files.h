/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the audit trail: audit/1.log, 2.log and so on, each a list of lines to which we only
 * append (core/audit/record.h). Each file begins with a record that names the one before it. One
 * thread at a time may write; others may read.
 */
#pragma once

#include "core/audit/chain.h"
#include "store/ledger.h"

typedef struct TrailLimits {
	uint64_t file_bytes; /* a file that has more is followed by another */
	uint64_t files;	     /* of which so many are kept, the newest */
} TrailLimits;

#define TRAIL_LIMITS_DEFAULT ((TrailLimits){ .file_bytes = 4ULL << 20, .files = 16 })

/* What the records say of jobs. */
typedef struct TrailJobs {
	AuditRecord *open; /* that they were begun, and not how they ended */
	size_t n_open;
	uint32_t last; /* the highest number */
} TrailJobs;

typedef struct TrailFiles {
	int dir_fd; /* owned; -1: it cannot be opened */
	int error;  /* why; 0: it is open */
	TrailLimits limits;
	LedgerFile file; /* the newest */
	char *boot_id;	 /* owned; NULL: not known */
	char *mended;	 /* what was wrong with the end, for the next record; NULL: nothing */
	char **faults;	 /* a line for each file, or the folder, that cannot be read */
	TrailJobs jobs;	 /* as the newest files say */
} TrailFiles;

/*
 * Opens DIRECTORY, and creates it with mode 0700; where that fails, each append says why. Reads
 * nothing: lock the directory first.
 */
void trail_files_open(const char *directory, TrailFiles *ret);
/*
 * Finds the end, and takes back a last line that was cut off. A file that cannot be read becomes a
 * fault, and is left behind: records go on in another one, with numbers that it cannot have had.
 */
void trail_files_load(TrailFiles *files);
void trail_files_close(TrailFiles *files);

/*
 * Appends the record, with sequence number and hashes, in another file where this one is full. The
 * record is not on disk before ledger_sync(). A failure leaves the trail as it was.
 */
int trail_files_append(TrailFiles *files, AuditRecord *record, LineHash *ret_hash);

/* Feeds all files to the chain. */
int trail_files_check(int dir_fd, AuditChain *chain);

/*
 * A page of the records that match, oldest first: schema org.gpupass1.audit-page/1. Its "last" is
 * the sequence number up to which records were looked at, and "more" whether others follow.
 */
int trail_files_page(int dir_fd, const AuditQuery *query, char **ret);
