/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal has one file for each open job. After the daemon was killed, or the host lost power,
 * the next daemon finds there what was begun. A file is a list of lines, to which we only append:
 *
 * 2 CRC32 {"record":"begin", "job":7, "boot_id":…, "plan":{…}, "previous":…, "live_xml":…} 2 CRC32
 * {"record":"intent", "step":1}           before an act 2 CRC32 {"record":"outcome", "step":1,
 * "ok":true} 2 CRC32 {"record":"undo", "step":1}             before an undo; from here on only back
 * 2 CRC32 {"record":"undone", "step":1, "ok":true} 2 CRC32 {"record":"end"}
 *
 * The first number is the version of the format. We also read version 1, which has no persistence
 * modes. Each line is on disk before what it announces begins. Bytes after the last newline are
 * from a write that was cut off: ignore them. The file is removed when its job has ended, so a file
 * that is left is of an open job.
 */
#pragma once

#include <sys/types.h>

#include "core/plan/plan.h"
#include "store/claims.h"

/* The two writes, which tests can replace. */
typedef struct JournalIo {
	/* Appends durably (fdatasync). */
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
	off_t size;  /* of the whole lines */
	bool broken; /* a write failed and could not be undone: append no more */
} JournalJob;

/* A job that an earlier daemon did not end. */
typedef struct OpenJob {
	JournalJob *log;
	uint32_t id;
	Plan *plan;
	Assignment *previous; /* the domain's record before; NULL: none */
	char *live_xml;	      /* the running guest before; NULL: it did not run */
	size_t begun;	      /* steps [0, begun) were begun */
	bool rolling_back;
	bool rebooted; /* the host booted since the job began: drivers are as the boot set them */
	char *damage;  /* why a line after the first cannot be understood; NULL: all can */
} OpenJob;

/* Opens the directory, and creates it if it is missing. */
int journal_open(const char *directory, Journal *ret);
void journal_close(Journal *journal);

/* previous, live_xml: as in OpenJob. Write to the machine only if this returns 0. */
int journal_begin(const Journal *journal, uint32_t id, const Plan *plan, const Assignment *previous,
		  const char *live_xml, JournalJob **ret);
int journal_intent(JournalJob *job, size_t step);
int journal_outcome(JournalJob *job, size_t step, bool ok);
int journal_undo(JournalJob *job, size_t step);
int journal_undone(JournalJob *job, size_t step, bool ok);
/* The job is over: removes its file. */
int journal_end(JournalJob *job);
/* Renames the file to NAME.damaged, for a person to read; the next load ignores it. */
int journal_set_aside(JournalJob *job);
/* The same by the file's name. */
int journal_set_aside_file(const Journal *journal, const char *name);
/*
 * Removes the open journal of a job on this group; no such job may run. Leaves other files alone.
 */
int journal_forget_group(const Journal *journal, const char *group);
/* Closes the log. An open job stays open. */
JournalJob *journal_job_free(JournalJob *job);
DEFINE_CLEANUP(JournalJob, journal_job_free)

/*
 * Reads all open jobs. When the first line of a file cannot be read or understood, or is of another
 * version, the file stays in place, and what it names is quarantined: store/unread.h. *ret_notes
 * has a line for each file that was set aside. *ret_last is the highest id of any file.
 */
int journal_load(const Journal *journal, Claims *claims, OpenJob ***ret, size_t *ret_n,
		 uint32_t *ret_last, char ***ret_notes);
/* Reads one job of this process that was left open. -ENOENT: it is not there. */
int journal_load_job(const Journal *journal, uint32_t id, OpenJob **ret);
OpenJob *open_job_free(OpenJob *job);
DEFINE_CLEANUP(OpenJob, open_job_free)
void open_jobs_free(OpenJob **jobs, size_t n);
