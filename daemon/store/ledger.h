/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of lines (core/audit/line.h) that are only added to: 1.log, 2.log and so on in a folder.
 * The audit trail is one such list, which goes on from file to file (store/trail-files.h); of the
 * journal each file is one (store/journal.h).
 *
 * Bytes behind the last newline of a file are from a write that was cut off: what they announce
 * never began, and the next write takes them back. One thread at a time writes a file; others may
 * read it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/audit/line.h"

#define LEDGER_SUFFIX ".log"

/* The writes, which tests can replace. append: all of it, or -errno. remove: durably. */
typedef struct LedgerIo {
	int (*append)(void *userdata, int fd, const char *text, size_t size);
	int (*sync)(void *userdata, int fd);
	int (*remove)(void *userdata, int dir_fd, const char *name);
	void *userdata;
} LedgerIo;
extern const LedgerIo ledger_io;

/* A place in a list. */
typedef struct LedgerMark {
	uint64_t number;   /* of the file; 0: there is none */
	off_t size;	   /* of its whole lines */
	uint64_t sequence; /* of the last line */
	LineHash hash;
} LedgerMark;
#define LEDGER_NO_MARK ((LedgerMark){ .hash = LINE_NO_HASH })

/* The file that is written to. */
typedef struct LedgerFile {
	int dir_fd; /* borrowed */
	int fd;	    /* owned; -1: none is open */
	LedgerIo io;
	LedgerMark end;
	LedgerMark synced; /* what is on disk */
	bool broken;	   /* a cut-off write could not be taken back: it takes no more */
} LedgerFile;

/* "7.log" */
char *ledger_name(uint64_t number);
/* Numbers of the files of a folder, ascending. */
int ledger_list(int dir_fd, uint64_t **ret, size_t *ret_n);

/* Opens the file of end.number for writing. -EBADMSG: it is no regular file. */
int ledger_open(LedgerFile *file, int flags);
void ledger_close(LedgerFile *file);
/*
 * Appends whole lines, the last of this sequence number and hash. They are not on disk before
 * ledger_sync(). A failure leaves the file as it was.
 */
int ledger_append(LedgerFile *file, const char *text, size_t size, uint64_t sequence,
		  const LineHash *hash);
/* Takes back what was appended since the last sync if it cannot be brought to the disk. */
int ledger_sync(LedgerFile *file);
/* The same, whatever the reason; also a file that was begun since. */
void ledger_go_back(LedgerFile *file, const LedgerMark *mark);

/*
 * Calls visit() for each line of a file, without its newline; `whole` is false for bytes at the
 * end without one. Of a line that is longer than `line_max` bytes only its size is right. Stops at
 * an error of visit(), or at a positive result, which it returns.
 */
typedef int (*LedgerVisit)(const char *line, size_t size, bool whole, void *userdata);
int ledger_visit(int dir_fd, const char *name, size_t line_max, LedgerVisit visit, void *userdata);
