/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal tells the next daemon what was begun, after this one was killed, or the host lost
 * power. It is a few files (store/ledger.h), each for one job at a time: a job takes a file that no
 * open job has, and adds to it. So nothing is made or removed for a job, and what damages one file
 * is no matter of other jobs.
 *
 * HASH {…,"record":"file-begun"}                            the first line of each file
 * HASH {…,"record":"begin","job":7,"begun":2,"plan":{…},…}  before anything of it; whoever had the
 *                                                           file before has ended
 * HASH {…,"record":"intent","step":4}                       before an act
 * HASH {…,"record":"outcome","step":4,"ok":true}
 * HASH {…,"record":"undo","step":4}                         before an undo; from here on only back
 * HASH {…,"record":"undone","step":4,"ok":true}
 * HASH {…,"record":"end"}
 *
 * On disk before what it announces begins: a begin, which announces all steps up to the first that
 * has an effect; the intent of a step that needs to be announced (StepOps.announced); the first
 * undo; the end. All other lines wait for one of these: recovery looks at the machine.
 *
 * A file is put in place with its first line, so that one which does not begin with that is
 * damaged, whatever else it is. Bytes after the last newline are from a write that was cut off, if
 * they can be the beginning of a line: what it was to announce was not begun.
 *
 * We also read what the versions before left: NUMBER.journal, one for each open job.
 */
#pragma once

#include <pthread.h>

#include "core/plan/plan.h"
#include "store/claims.h"
#include "store/ledger.h"

/* Of its files as faults: they are no records. */
extern const RecordKind journal_kind;

/* More jobs cannot run at once. */
#define JOURNAL_FILES_MAX 128
/* What a file may have had before a job begins in it; more is left, and another one begun. */
#define JOURNAL_FILE_BYTES (1U << 20)

typedef struct JournalFile {
	bool taken;	/* an open job has it, or it cannot be used */
	uint32_t job;	/* that one; 0: none */
	LedgerMark end; /* number 0: there is no such file */
} JournalFile;

typedef struct Journal {
	int dir_fd;    /* owned */
	char *boot_id; /* owned; the kernel's random/boot_id; NULL: not known */
	LedgerIo io;
	pthread_mutex_t lock; /* protects what follows */
	JournalFile files[JOURNAL_FILES_MAX];
} Journal;

/* The log of one job that is open. */
typedef struct JournalJob {
	Journal *journal;
	char *name; /* of its file */
	uint32_t id;
	LedgerFile file; /* end.number 0: of a version before, to which nothing is added */
	LedgerMark next; /* with what waits to be written */
	char *waiting;	 /* lines */
	size_t n_waiting;
	int failed; /* of a write of it, whatever became of that; 0: none failed */
	bool ended;
} JournalJob;

/* A job that an earlier daemon did not end. */
typedef struct OpenJob {
	JournalJob *log;
	uint32_t id;
	Plan *plan;
	Assignment *previous; /* the domain's record before; NULL: none */
	char *live_xml;	      /* the running guest before; NULL: it did not run */
	size_t begun;	      /* steps [0, begun) were announced */
	bool rolling_back;
	bool rebooted; /* the host booted since the job began: drivers are as the boot set them */
	char *damage;  /* why a line after the first cannot be understood; NULL: all can */
} OpenJob;

/* Opens the directory, and creates it if it is missing. It must not move in memory. */
int journal_open(const char *directory, Journal *ret);

/*
 * previous, live_xml: as in OpenJob. begun: so many steps are announced with it. Write to the
 * machine only if this returns 0.
 */
int journal_begin(Journal *journal, uint32_t id, const Plan *plan, const Assignment *previous,
		  const char *live_xml, size_t begun, JournalJob **ret);
/* Writes nothing yet: "intent" or "undo", which announce, and how that ended. job NULL: nobody keeps
 * a journal. */
void journal_note(JournalJob *job, const char *record, size_t step);
void journal_note_result(JournalJob *job, const char *record, size_t step, bool ok);
/* All that was noted is on disk when it returns 0. */
int journal_flush(JournalJob *job);
/* The job is over. Where that cannot be added, as on a full disk, removes the file. */
int journal_end(JournalJob *job);
/* Renames the file to NAME.damaged, for a person to read; the next load ignores it. */
int journal_set_aside(Journal *journal, const char *name);
/*
 * Removes the open journal of a job on this group; no such job may run. Leaves other files alone.
 */
int journal_forget_group(Journal *journal, const char *group);
/* Closes the log. An open job stays open. */
JournalJob *journal_job_free(JournalJob *job);
DEFINE_CLEANUP(JournalJob, journal_job_free)

/* What was found at a start. */
typedef struct JournalFound {
	OpenJob **jobs;
	size_t n_jobs;
	uint32_t *ended; /* numbers of jobs that it says have ended */
	size_t n_ended;
	uint32_t last; /* the highest number of any job in it */
	bool torn;     /* a line was cut off */
	char **notes;  /* a line for each file that was set aside or mended */
} JournalFound;

/*
 * Reads all open jobs. Where what a file has of its last job cannot be read or understood, or is of
 * another version, the file stays in place, and what it names is quarantined: claims_add_fault().
 */
int journal_load(Journal *journal, Claims *claims, JournalFound *ret);
DECLARE_CLEAR(JournalFound, journal_found_clear)
/* Reads one job of this process that was left open. -ENOENT: it is not there. */
int journal_load_job(Journal *journal, uint32_t id, OpenJob **ret);
DECLARE_FREE(OpenJob, open_job_free)
