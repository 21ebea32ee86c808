/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of the audit trail: audit/1.log, 2.log and so on, each a list of lines to which we only
 * append (core/audit/record.h). Each file begins with a record that names the one before it. One
 * thread at a time may write; others may read.
 */
#pragma once

#include <sys/types.h>

#include "core/audit/chain.h"
#include "core/audit/query.h"

#define TRAIL_FILE_SUFFIX ".log"

typedef struct TrailLimits {
	uint64_t file_bytes; /* a file that has more is followed by another */
	uint64_t files;	     /* of which so many are kept, the newest */
} TrailLimits;

#define TRAIL_LIMITS_DEFAULT ((TrailLimits){ .file_bytes = 4ULL << 20, .files = 16 })

/* The two writes, which tests can replace. append: all of it, or -errno. */
typedef struct TrailIo {
	int (*append)(void *userdata, int fd, const char *text, size_t size);
	int (*sync)(void *userdata, int fd);
	void *userdata;
} TrailIo;

/* A place in the trail. */
typedef struct TrailMark {
	uint64_t number;   /* of the newest file; 0: there is none */
	off_t size;	   /* of its whole lines */
	uint64_t sequence; /* of the last record */
	AuditHash hash;
} TrailMark;

typedef struct TrailFiles {
	int dir_fd; /* owned */
	TrailLimits limits;
	TrailIo io;
	char *boot_id; /* owned; NULL: not known */
	int fd;	       /* of the newest file; owned; -1: none */
	TrailMark end;
	TrailMark synced; /* what is on disk */
	bool broken;	  /* a cut-off write could not be taken back: begin another file */
	char *mended;	  /* what was wrong with the end, for the next record; NULL: nothing */
} TrailFiles;

/* Opens DIRECTORY, and creates it with mode 0700. Reads nothing: lock the directory first. */
int trail_files_open(const char *directory, TrailFiles *ret);
/* Finds the end, and takes back a last line that was cut off. */
int trail_files_load(TrailFiles *files);
void trail_files_close(TrailFiles *files);

/*
 * Appends the record, with sequence number and hashes, in another file where this one is full. The
 * record is not on disk before trail_files_sync(). A failure leaves the trail as it was.
 */
int trail_files_append(TrailFiles *files, AuditRecord *record, AuditHash *ret_hash);
/* Takes back what was appended since the last sync if it cannot be brought to the disk. */
int trail_files_sync(TrailFiles *files);

/* Numbers of the files of a trail, ascending. */
int trail_files_list(int dir_fd, uint64_t **ret, size_t *ret_n);

/*
 * Calls visit() for each line of a file, without its newline; `whole` is false for bytes at the
 * end without one. Stops at an error of visit(), or at a positive result, which it returns.
 */
typedef int (*TrailVisit)(const char *line, size_t size, bool whole, void *userdata);
int trail_file_visit(int dir_fd, uint64_t number, TrailVisit visit, void *userdata);

/* Feeds all files to the chain. */
int trail_files_check(int dir_fd, AuditChain *chain);

/*
 * A page of the records that match, oldest first: schema org.gpupass1.audit-page/1. Its "last" is
 * the sequence number up to which records were looked at, and "more" whether others follow.
 */
int trail_files_page(int dir_fd, const AuditQuery *query, char **ret);
