/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: one file an open job, so that a daemon that was killed, or a host that lost its
 * power, finds what was begun. A file is a list of lines, only ever appended to:
 *
 *   2 CRC32 {"record":"begin", "job":7, "boot_id":…, "plan":{…}, "previous":…, "live_xml":…}
 *   2 CRC32 {"record":"intent", "step":1}           before an act
 *   2 CRC32 {"record":"outcome", "step":1, "ok":true}
 *   2 CRC32 {"record":"undo", "step":1}             before an undo; from here on only back
 *   2 CRC32 {"record":"undone", "step":1, "ok":true}
 *   2 CRC32 {"record":"end"}
 *
 * The first number is the format's version; 1, without persistence modes, is read as well. Each line
 * is on disk before what it announces begins. Bytes after the last newline are a write that was cut
 * off: that record never happened. A file goes away when its job has ended; what is left is open.
 */
#pragma once

#include <sys/types.h>

#include "core/plan/plan.h"
#include "store/claims.h"

/* The two writes, as a seam for tests. */
typedef struct JournalIo {
	/* Appends and makes it last (fdatasync). */
	int (*append)(void *userdata, int fd, const char *text, size_t size);
	int (*remove)(void *userdata, int dir_fd, const char *name);
	void *userdata;
} JournalIo;

typedef struct Journal {
	int dir_fd;    /* owned */
	char *boot_id; /* owned; the kernel's random/boot_id; NULL: not known */
	JournalIo io;
} Journal;

/* The log of one job that is open. */
typedef struct JournalJob {
	const Journal *journal;
	char *name;
	int fd;
	off_t size;  /* of what is whole */
	bool broken; /* a write failed and could not be taken back: nothing more is appended */
} JournalJob;

/* A job that a daemon before this one did not end. */
typedef struct OpenJob {
	JournalJob *log;
	uint32_t id;
	Plan *plan;
	Assignment *previous; /* the domain's record before; NULL: none */
	char *live_xml;	      /* the running guest before; NULL: it did not run */
	size_t begun;	      /* steps [0, begun) were begun */
	bool rolling_back;
	bool rebooted; /* the host has booted since it began: drivers are as the boot made them */
	char *damage;  /* why what comes after the begin is not understood; NULL: it is */
} OpenJob;

/* Opens the directory, creating it if need be. */
int journal_open(const char *directory, Journal *ret);
void journal_close(Journal *journal);

/* previous, live_xml: as in OpenJob. Nothing may be written to the machine unless this is 0. */
int journal_begin(const Journal *journal, uint32_t id, const Plan *plan, const Assignment *previous,
		  const char *live_xml, JournalJob **ret);
int journal_intent(JournalJob *job, size_t step);
int journal_outcome(JournalJob *job, size_t step, bool ok);
int journal_undo(JournalJob *job, size_t step);
int journal_undone(JournalJob *job, size_t step, bool ok);
/* The job is over: its file goes. */
int journal_end(JournalJob *job);
/* Keeps the file for a person, as NAME.damaged, out of the way of the next load. */
int journal_set_aside(JournalJob *job);
/* The same by the file's name. */
int journal_set_aside_file(const Journal *journal, const char *name);
/* Removes the open journal of a job on this group, of which none runs. Others are not touched. */
int journal_forget_group(const Journal *journal, const char *group);
/* Closes the log; an open job stays open. */
JournalJob *journal_job_free(JournalJob *job);
DEFINE_CLEANUP(JournalJob, journal_job_free)

/*
 * Reads all open jobs. A file whose begin cannot be understood, or read, or that is of another version,
 * stays where it is, and keeps apart what can be read of it: store/unread.h. *ret_notes has a line
 * for each that a person has set aside. *ret_last is the highest id of any file.
 */
int journal_load(const Journal *journal, Claims *claims, OpenJob ***ret, size_t *ret_n,
		 uint32_t *ret_last, char ***ret_notes);
/* One job of this process that was left open. -ENOENT: there is none. */
int journal_load_job(const Journal *journal, uint32_t id, OpenJob **ret);
OpenJob *open_job_free(OpenJob *job);
DEFINE_CLEANUP(OpenJob, open_job_free)
void open_jobs_free(OpenJob **jobs, size_t n);
