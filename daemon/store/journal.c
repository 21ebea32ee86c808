/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/journal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/plan/record.h"
#include "gpupass/dbus.h"
#include "store/journal-private.h"
#include "util/file.h"
#include "util/json.h"
#include "util/mutex.h"
#include "util/xalloc.h"

int journal_open(const char *directory, Journal *ret)
{
	*ret = (Journal){ .dir_fd = -1, .io = ledger_io };
	pthread_mutex_init(&ret->lock, NULL);
	return dir_open_private(directory, &ret->dir_fd);
}

/* ---- files ---- */

/* The lowest that no job has; 0: there is none. */
static uint64_t take_file(Journal *journal, uint32_t id, LedgerMark *ret)
{
	MUTEX_HOLD(&journal->lock);

	for (size_t i = 0; i < JOURNAL_FILES_MAX; i++) {
		JournalFile *file = &journal->files[i];

		if (file->taken)
			continue;
		file->taken = true;
		file->job = id;
		*ret = file->end;
		return i + 1;
	}
	return 0;
}

void journal_set_file(Journal *journal, uint64_t number, const JournalFile *is)
{
	if (number == 0 || number > JOURNAL_FILES_MAX)
		return;
	MUTEX_HOLD(&journal->lock);
	journal->files[number - 1] = *is;
}

int journal_remove_file(Journal *journal, const char *name, uint64_t number)
{
	int r = journal->io.remove(journal->io.userdata, journal->dir_fd, name);

	if (r < 0 && r != -ENOENT)
		return r;
	journal_set_file(journal, number, &(JournalFile){ 0 });
	return 0;
}

uint64_t journal_number_of(const char *name)
{
	_cleanup_free_ char *number = xstrndup(name, strcspn(name, "."));
	unsigned long long value = 0;

	return str_to_unsigned(number, 10, INT64_MAX, &value) < 0 ? 0 : value;
}

JournalJob *journal_job_free(JournalJob *job)
{
	if (!job)
		return NULL;
	if (job->ended)
		journal_set_file(job->journal, job->file.end.number,
				 &(JournalFile){ .end = job->file.synced });
	ledger_close(&job->file);
	free(job->name);
	free(job->waiting);
	free(job);
	return NULL;
}

int journal_job_open(Journal *journal, const char *name, const LedgerMark *end, uint32_t id,
		     bool may_be_read_only, JournalJob **ret)
{
	_cleanup_(journal_job_freep) JournalJob *job = xcalloc(1, sizeof(JournalJob));
	struct stat st;
	int r;

	*job = (JournalJob){
		.journal = journal,
		.name = xstrdup(name),
		.id = id,
		.file = { .dir_fd = journal->dir_fd,
			  .fd = -1,
			  .io = journal->io,
			  .end = *end,
			  .synced = *end },
		.next = *end,
	};
	r = end->number > 0 ? ledger_open(&job->file, 0) : 0;
	if (r >= 0 && end->number > 0 && (fstat(job->file.fd, &st) < 0 || st.st_size < end->size))
		r = -EBADMSG;
	/* A line that was cut off, or the next one would become part of it. */
	if (r >= 0 && end->number > 0 && st.st_size > end->size &&
	    ftruncate(job->file.fd, end->size) < 0)
		r = -errno;
	job->file.broken = r < 0;
	if (r >= 0 || may_be_read_only)
		*ret = TAKE_PTR(job);
	return may_be_read_only ? 0 : r;
}

/* ---- writing ---- */

/* Takes `record`. It is written with the next journal_flush(). */
static void add(JournalJob *job, json_t *record)
{
	_cleanup_json_ json_t *owned = record;
	_cleanup_free_ char *line = NULL;
	size_t size;

	if (job->file.end.number == 0)
		return;
	json_set(owned, "schema", json_text(GPUPASS_SCHEMA_JOURNAL));
	json_set(owned, "sequence", json_integer((json_int_t)++job->next.sequence));
	json_set(owned, "previous", json_text(job->next.hash.hex));
	line = line_make(owned, &job->next.hash);
	size = strlen(line);
	job->waiting = xrealloc(job->waiting, job->n_waiting + size + 1);
	memcpy(job->waiting + job->n_waiting, line, size + 1);
	job->n_waiting += size;
}

/* With one write and one sync. What could not be written waits no more. */
int journal_flush(JournalJob *job)
{
	LedgerFile *file;
	int r;

	if (!job || job->n_waiting == 0)
		return 0;
	file = &job->file;
	r = file->broken ? -EIO
			 : ledger_append(file, job->waiting, job->n_waiting, job->next.sequence,
					 &job->next.hash);
	if (r >= 0)
		r = ledger_sync(file);
	job->n_waiting = 0;
	job->next = file->end;
	if (r < 0)
		job->failed = r;
	return r;
}

static json_t *begin_record(const JournalJob *job, const Plan *plan, const Assignment *previous,
			    const char *live_xml, size_t begun)
{
	_cleanup_free_ char *before = previous ? assignment_to_json(previous) : NULL;

	return json_build("{s:s, s:I, s:I, s:s?, s:o, s:s?, s:s?}", "record", "begin", "job",
			  (json_int_t)job->id, "begun", (json_int_t)begun, "boot_id",
			  job->journal->boot_id, "plan", plan_to_record(plan), "record_before",
			  before, "live_xml", live_xml);
}

/* With its first line, and durably, before anything is added to it. */
static int begin_file(Journal *journal, const char *name, uint64_t number, LedgerMark *end)
{
	LedgerMark made = { .number = number, .sequence = 1, .hash = LINE_NO_HASH };
	_cleanup_json_ json_t *record =
		json_build("{s:s, s:s, s:i, s:s}", "schema", GPUPASS_SCHEMA_JOURNAL, "record",
			   "file-begun", "sequence", 1, "previous", made.hash.hex);
	_cleanup_free_ char *line = line_make(record, &made.hash);
	int r;

	made.size = (off_t)strlen(line);
	r = file_replace_at(journal->dir_fd, name, line, (size_t)made.size, FILE_MODE_PRIVATE);
	if (r < 0 && end->number == 0)
		(void)unlinkat(journal->dir_fd, name, 0);
	if (r >= 0)
		*end = made;
	return r;
}

static int open_file(Journal *journal, uint32_t id, uint64_t number, LedgerMark *end,
		     JournalJob **ret)
{
	_cleanup_free_ char *name = ledger_name(number);
	bool there = faccessat(journal->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	int r = 0;

	/* Somebody else's, which no load has seen. */
	if (there && end->number == 0)
		return -EEXIST;
	if (!there || end->size >= JOURNAL_FILE_BYTES)
		r = begin_file(journal, name, number, end);
	return r < 0 ? r : journal_job_open(journal, name, end, id, false, ret);
}

/* A file that cannot be used stays taken. */
static int take_and_open(Journal *journal, uint32_t id, JournalJob **ret)
{
	LedgerMark end;
	uint64_t number;
	int r;

	do {
		number = take_file(journal, id, &end);
		r = number == 0 ? -EBUSY : open_file(journal, id, number, &end, ret);
		if (r < 0 && r != -EEXIST && r != -EBADMSG)
			journal_set_file(journal, number, &(JournalFile){ .end = end });
	} while (r == -EEXIST || r == -EBADMSG);
	return r;
}

int journal_begin(Journal *journal, uint32_t id, const Plan *plan, const Assignment *previous,
		  const char *live_xml, size_t begun, JournalJob **ret)
{
	_cleanup_(journal_job_freep) JournalJob *job = NULL;
	int r = take_and_open(journal, id, &job);

	if (r >= 0 && !job)
		r = -EIO; /* which the analyzer believes to happen */
	if (r < 0)
		return r;
	add(job, begin_record(job, plan, previous, live_xml, begun));
	r = journal_flush(job);
	/* It may be on disk all the same, and must not be found there. */
	if (r < 0)
		(void)journal_remove_file(journal, job->name, job->file.end.number);
	if (r >= 0)
		*ret = TAKE_PTR(job);
	return r;
}

void journal_note(JournalJob *job, const char *record, size_t step)
{
	if (job)
		add(job, json_build("{s:s, s:I, s:I}", "record", record, "job", (json_int_t)job->id,
				    "step", (json_int_t)step));
}

void journal_note_result(JournalJob *job, const char *record, size_t step, bool ok)
{
	if (job)
		add(job, json_build("{s:s, s:I, s:I, s:b}", "record", record, "job",
				    (json_int_t)job->id, "step", (json_int_t)step, "ok", (int)ok));
}

/*
 * On a full disk, adding a line fails, but removing the file works; and after a sync that failed
 * nobody knows what is on disk.
 */
int journal_end(JournalJob *job)
{
	int r = -EIO;

	if (job->file.end.number > 0) {
		add(job, json_build("{s:s, s:I}", "record", "end", "job", (json_int_t)job->id));
		r = journal_flush(job);
	}
	if (r < 0) {
		r = journal_remove_file(job->journal, job->name, job->file.end.number);
		/* Where that worked another job may have its number from now on. */
		job->file.end.number = 0;
	}
	job->ended = r >= 0;
	return r;
}

int journal_set_aside(Journal *journal, const char *name)
{
	int r = file_set_aside_at(journal->dir_fd, name);

	if (r < 0 && r != -ENOENT)
		return r;
	if (str_ends_with(name, LEDGER_SUFFIX))
		journal_set_file(journal, journal_number_of(name), &(JournalFile){ 0 });
	return 0;
}

#include "journal.inc"
