/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "core/plan/record.h"
#include "gpupass/dbus.h"
#include "store/journal-private.h"
#include "store/journal.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Of what cannot be understood so much is looked through for functions. */
#define BAD_MAX (16U * 1024 * 1024)

OpenJob *open_job_free(OpenJob *job)
{
	if (!job)
		return NULL;
	journal_job_free(job->log);
	plan_free(job->plan);
	assignment_free(job->previous);
	free(job->live_xml);
	free(job->damage);
	free(job);
	return NULL;
}

void open_jobs_free(OpenJob **jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		open_job_free(jobs[i]);
	free(jobs);
}

/* ---- records ---- */

int journal_read_begin(const json_t *record, const char *before_member, OpenJob *job,
		       const char *boot_id, char **ret_message)
{
	const char *then, *previous;
	unsigned long long id = 0, begun = 0;
	int r;

	if (!str_equal(json_string_value(json_object_get(record, "record")), "begin") ||
	    json_get_unsigned(record, "job", UINT32_MAX, &id) < 0) {
		*ret_message = xstrdup("it does not begin with a begin");
		return -EBADMSG;
	}
	job->id = (uint32_t)id;
	then = json_string_value(json_object_get(record, "boot_id"));
	job->rebooted = boot_id && then && strcmp(boot_id, then) != 0;
	r = plan_from_record(json_object_get(record, "plan"), &job->plan, ret_message);
	if (r < 0)
		return r;
	/* Absent before version 3. */
	if (json_get_unsigned(record, "begun", job->plan->n_steps, &begun) >= 0)
		job->begun = (size_t)begun;
	job->live_xml = xstrdup(json_string_value(json_object_get(record, "live_xml")));
	previous = json_string_value(json_object_get(record, before_member));
	if (!previous)
		return 0;
	r = assignment_from_json(previous, strlen(previous), &job->previous, ret_message);
	return r == -EPROTO ? -EBADMSG : r;
}

int journal_read_step(const json_t *record, OpenJob *job)
{
	const char *kind = str_or_empty(json_string_value(json_object_get(record, "record")));
	unsigned long long step = 0;

	if (strcmp(kind, "end") == 0)
		return 1;
	if (job->plan->n_steps == 0 ||
	    json_get_unsigned(record, "step", job->plan->n_steps - 1, &step) < 0)
		return -EBADMSG;
	if (strcmp(kind, "intent") == 0) {
		if (job->begun < step + 1)
			job->begun = (size_t)step + 1;
		return 0;
	}
	if (strcmp(kind, "undo") == 0 || strcmp(kind, "undone") == 0) {
		job->rolling_back = true;
		return 0;
	}
	return strcmp(kind, "outcome") == 0 ? 0 : -EBADMSG;
}

/* ---- what is wrong ---- */

void journal_note_bad(JournalReading *reading, int error, const char *message, const char *bytes,
		      size_t size)
{
	size_t room = reading->n_bad < BAD_MAX ? BAD_MAX - reading->n_bad : 0;

	if (reading->error == 0) {
		reading->error = error;
		free(reading->message);
		reading->message = strf("line %zu%s%s", reading->lines, message ? ": " : "",
					str_or_empty(message));
	}
	if (size > room)
		size = room;
	reading->bad = xrealloc(reading->bad, reading->n_bad + size + 1);
	memcpy(reading->bad + reading->n_bad, bytes, size);
	reading->bad[reading->n_bad + size] = '\n';
	reading->n_bad += size + 1;
}

/* What has ended is no matter any more, whatever became of its lines. */
static void forget_bad(JournalReading *reading)
{
	reading->error = 0;
	free(reading->message);
	free(reading->bad);
	reading->message = reading->bad = NULL;
	reading->n_bad = 0;
}

void journal_reading_clear(JournalReading *reading)
{
	forget_bad(reading);
	reading->job = open_job_free(reading->job);
	free(reading->ended);
	reading->ended = NULL;
}

/* ---- lines ---- */

static void note_end(JournalReading *reading, uint32_t id)
{
	reading->job = open_job_free(reading->job);
	forget_bad(reading);
	reading->ended =
		xreallocarray(reading->ended, reading->n_ended + 1, sizeof(*reading->ended));
	reading->ended[reading->n_ended++] = id;
}

/* Whoever had the file before has ended. */
static int read_begin(JournalReading *reading, const json_t *record, char **ret_message)
{
	_cleanup_(open_job_freep) OpenJob *job = xcalloc(1, sizeof(OpenJob));
	int r;

	if (reading->job)
		note_end(reading, reading->job->id);
	forget_bad(reading);
	r = journal_read_begin(record, "record_before", job, reading->boot_id, ret_message);
	if (r >= 0)
		reading->job = TAKE_PTR(job);
	return r;
}

static bool follows(const JournalReading *reading, const json_t *record, uint64_t sequence)
{
	return sequence == reading->end.sequence + 1 &&
	       str_equal(json_string_value(json_object_get(record, "previous")),
			 reading->end.hash.hex);
}

static int read_record(JournalReading *reading, const json_t *record, bool in_order,
		       char **ret_message)
{
	const char *kind = str_or_empty(json_string_value(json_object_get(record, "record")));
	unsigned long long id = 0;
	int r;

	if (reading->lines == 1 && strcmp(kind, "file-begun") == 0)
		return 0;
	if (json_get_unsigned(record, "job", UINT32_MAX, &id) >= 0 && id > reading->last)
		reading->last = (uint32_t)id;
	if (strcmp(kind, "begin") == 0)
		return read_begin(reading, record, ret_message);
	if (strcmp(kind, "end") == 0) {
		note_end(reading, (uint32_t)id);
		return 0;
	}
	r = in_order && reading->job && reading->job->id == id
		    ? journal_read_step(record, reading->job)
		    : -EBADMSG;
	if (r >= 0)
		return r;
	*ret_message =
		xstrdup(in_order ? "no such record can be" : "it does not follow the one before");
	return -ESTALE;
}

static int read_line(JournalReading *reading, const char *line, size_t size, char **ret_message)
{
	_cleanup_json_ json_t *record = NULL;
	unsigned long long sequence = 0;
	bool intact, in_order;
	LineHash hash;
	const char *text = line_text(line, size, JOURNAL_LINE_MAX, &hash, &intact);
	int r;

	if (!text || !intact) {
		*ret_message = xstrdup("its checksum is wrong");
		return -EBADMSG;
	}
	r = json_parse_document(text, size - (size_t)(text - line), GPUPASS_SCHEMA_JOURNAL, &record,
				ret_message);
	if (r >= 0)
		r = json_get_unsigned(record, "sequence", INT64_MAX, &sequence);
	if (r < 0)
		return r == -ENOENT ? -EBADMSG : r;
	in_order = follows(reading, record, sequence);
	reading->end.sequence = sequence;
	reading->end.hash = hash;
	return read_record(reading, record, in_order, ret_message);
}

static int visit(const char *line, size_t size, bool whole, void *userdata)
{
	JournalReading *reading = userdata;
	_cleanup_free_ char *message = NULL;
	bool fits = size <= JOURNAL_LINE_MAX;
	int r;

	reading->lines++;
	if (!whole && reading->lines > 1 && fits && line_may_begin(line, size)) {
		reading->torn = size;
		return 0;
	}
	if (whole)
		reading->end.size += (off_t)size + 1;
	if (whole && fits) {
		r = read_line(reading, line, size, &message);
	} else {
		message = xstrdup(whole ? "it is too long" : "it is cut off, and was never ours");
		r = -EBADMSG;
	}
	/* A line that is whole, and out of place, names nothing. */
	if (r == -ESTALE)
		journal_note_bad(reading, -EBADMSG, message, "", 0);
	else if (r < 0)
		journal_note_bad(reading, r, message, line, fits ? size : 0);
	return 0;
}

void journal_read(int dir_fd, const char *name, JournalReading *reading)
{
	int r;

	reading->end.hash = LINE_NO_HASH;
	r = ledger_visit(dir_fd, name, JOURNAL_LINE_MAX, visit, reading);
	if (r < 0)
		reading->error = r;
	else if (reading->lines == 0)
		journal_note_bad(reading, -EBADMSG, "it is empty", "", 0);
}
