/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading files of the journal. One of the versions before, NUMBER.journal, has one open job, in
 * lines such as
 *
 * 2 CRC32 {"record":"begin", "job":7, "boot_id":…, "plan":{…}, "previous":…, "live_xml":…}
 *
 * of which only the first names the job. Version 1 has neither persistence modes nor their steps.
 * Nothing is added to such a file, and it goes with the end of its job.
 */

#include "core/base/json-struct.h"
#include "core/plan/record.h"
#include "gpupass/dbus.h"
#include "store/journal-private.h"
#include "store/journal.h"
#include "util/crc32.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/mutex.h"
#include "util/text.h"

/* Room for two definitions (DOMAIN_XML_MAX) and a running domain's XML (DOMAIN_SKIM_MAX), escaped,
 * and the rest. */
#define JOURNAL_LINE_MAX (128U * 1024 * 1024)
#define JOURNAL_BEFORE_SUFFIX ".journal"

/* What was found in a file, of its last job. */
typedef struct Reading {
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
} Reading;

/* Of what cannot be understood so much is looked through for functions. */
#define BAD_MAX (16U * 1024 * 1024)

/* ---- records ---- */

static int read_facts(const Reading *reading, const json_t *record, OpenJob *job,
		      char **ret_message)
{
	const char *then, *previous;
	unsigned long long id = 0, begun = 0;
	int r;

	if (json_get_unsigned(record, "job", UINT32_MAX, &id) < 0)
		return json_refuse(ret_message, "it names no job");
	job->id = (uint32_t)id;
	then = json_string_value(json_object_get(record, "boot_id"));
	job->rebooted = reading->boot_id && then && strcmp(reading->boot_id, then) != 0;
	r = plan_from_record(json_object_get(record, "plan"), &job->plan, ret_message);
	if (r < 0)
		return r;
	/* Absent before version 3. */
	if (json_get_unsigned(record, "begun", job->plan->n_steps, &begun) >= 0)
		job->begun = (size_t)begun;
	job->live_xml = xstrdup(json_string_value(json_object_get(record, "live_xml")));
	previous = json_string_value(
		json_object_get(record, reading->before ? "previous" : "record_before"));
	if (!previous)
		return 0;
	r = assignment_from_json(previous, strlen(previous), &job->previous, ret_message);
	return r == -EPROTO ? -EBADMSG : r;
}

/* -EBADMSG: no such record can be. */
static int read_step(const json_t *record, const char *kind, OpenJob *job)
{
	unsigned long long step = 0;

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

/* And its bytes. */
static void note_bad(Reading *reading, int error, const char *message, const char *bytes,
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
static void forget_bad(Reading *reading)
{
	reading->error = 0;
	free(reading->message);
	free(reading->bad);
	reading->message = reading->bad = NULL;
	reading->n_bad = 0;
}

static void reading_clear(Reading *reading)
{
	forget_bad(reading);
	reading->job = open_job_free(reading->job);
}

/* ---- lines ---- */

static void note_end(Reading *reading, uint32_t id)
{
	JournalFound *found = reading->found;

	reading->job = open_job_free(reading->job);
	forget_bad(reading);
	*GROW(found->ended, found->n_ended) = id;
}

/* Whoever had the file before has ended. */
static int read_begin(Reading *reading, const json_t *record, char **ret_message)
{
	_cleanup_(open_job_freep) OpenJob *job = xcalloc(1, sizeof(OpenJob));
	int r;

	if (reading->job)
		note_end(reading, reading->job->id);
	forget_bad(reading);
	r = read_facts(reading, record, job, ret_message);
	if (r >= 0)
		reading->job = TAKE_PTR(job);
	return r;
}

static bool follows(const Reading *reading, const json_t *record, uint64_t sequence)
{
	return sequence == reading->end.sequence + 1 &&
	       str_equal(json_string_value(json_object_get(record, "previous")),
			 reading->end.hash.hex);
}

static int read_record(Reading *reading, const json_t *record, bool in_order, char **ret_message)
{
	const char *kind = str_or_empty(json_string_value(json_object_get(record, "record")));
	unsigned long long id = reading->before && reading->job ? reading->job->id : 0;
	int r;

	if (reading->lines == 1 && strcmp(kind, "file-begun") == 0)
		return 0;
	if (reading->before && (reading->lines == 1) != (strcmp(kind, "begin") == 0))
		return json_refuse(ret_message, "it does not begin with a begin");
	if (json_get_unsigned(record, "job", UINT32_MAX, &id) >= 0 && id > reading->found->last)
		reading->found->last = (uint32_t)id;
	if (strcmp(kind, "begin") == 0)
		return read_begin(reading, record, ret_message);
	if (strcmp(kind, "end") == 0) {
		note_end(reading, (uint32_t)id);
		return 0;
	}
	r = in_order && reading->job && reading->job->id == id
		    ? read_step(record, kind, reading->job)
		    : -EBADMSG;
	if (r >= 0)
		return r;
	*ret_message =
		xstrdup(in_order ? "no such record can be" : "it does not follow the one before");
	return -ESTALE;
}

/* A line of another version begins with a number. Anything else is damage. */
static bool is_other_version(const char *line)
{
	size_t digits = strspn(line, "0123456789");

	return digits > 0 && digits < 10 && line[digits] == ' ';
}

static int read_line_before(Reading *reading, const char *line, size_t size, char **ret_message)
{
	const size_t begin = strlen("2 01234567 ");
	_cleanup_free_ char *number = size < begin ? NULL : xstrndup(line + 2, 8);
	_cleanup_json_ json_t *record = NULL;
	unsigned long long sum = 0;

	if (!str_starts_with(line, "2 ") && !str_starts_with(line, "1 ")) {
		*ret_message = xstrdup("of another version, or of none");
		return is_other_version(line) ? -EPROTO : -EBADMSG;
	}
	if (!number || line[begin - 1] != ' ' ||
	    str_to_unsigned(number, 16, UINT32_MAX, &sum) < 0 ||
	    sum != crc32_of(line + begin, size - begin))
		return json_refuse(ret_message, "its checksum is wrong");
	if (json_parse(line + begin, size - begin, &record, NULL) < 0)
		return json_refuse(ret_message, "it is no JSON");
	return read_record(reading, record, true, ret_message);
}

static int read_line(Reading *reading, const char *line, size_t size, char **ret_message)
{
	_cleanup_json_ json_t *record = NULL;
	unsigned long long sequence = 0;
	bool intact, in_order;
	LineHash hash;
	const char *text = line_text(line, size, JOURNAL_LINE_MAX, &hash, &intact);
	int r;

	if (!text || !intact)
		return json_refuse(ret_message, "its checksum is wrong");
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
	Reading *reading = userdata;
	_cleanup_free_ char *message = NULL;
	bool fits = size <= JOURNAL_LINE_MAX;
	int r;

	reading->lines++;
	/* Of an open job of a version before what the line announced was not begun, either. */
	if (!whole && reading->lines > 1 &&
	    (reading->before || (fits && line_may_begin(line, size)))) {
		reading->torn = reading->before ? 0 : size;
		return 0;
	}
	if (whole)
		reading->end.size += (off_t)size + 1;
	if (whole && fits)
		r = reading->before ? read_line_before(reading, line, size, &message)
				    : read_line(reading, line, size, &message);
	else
		r = json_refuse(&message, "%s",
				whole ? "it is too long" : "it is cut off, and was never ours");
	/* A line that is whole, and out of place, names nothing. */
	if (r == -ESTALE)
		note_bad(reading, -EBADMSG, message, "", 0);
	else if (r < 0)
		note_bad(reading, r, message, line, fits ? size : 0);
	/* There nothing that follows damage, or the end, is looked at. */
	return reading->before && (r < 0 || !reading->job) ? 1 : 0;
}

/* Of any version. */
static void read_file(const Journal *journal, const char *name, Reading *reading)
{
	int r;

	reading->boot_id = journal->boot_id;
	reading->before = str_ends_with(name, JOURNAL_BEFORE_SUFFIX);
	reading->end = (LedgerMark){ .number = reading->before ? 0 : journal_number_of(name),
				     .hash = LINE_NO_HASH };
	r = ledger_visit(journal->dir_fd, name, JOURNAL_LINE_MAX, visit, reading);
	if (r < 0)
		reading->error = r;
	else if (reading->lines == 0)
		note_bad(reading, -EBADMSG, "it is empty", "", 0);
}

/* ---- what a start makes of the files, and what a person has settled ---- */

const RecordKind journal_kind = { .folder = "journal", .apart = true, .of_group = true };

/* The plan of a job that another version began; NULL: there is none. */
static char *newer_plan(const Reading *reading)
{
	const char *record = reading->n_bad > 0 ? memchr(reading->bad, '{', reading->n_bad) : NULL;
	_cleanup_json_ json_t *root = NULL;

	if (record)
		root = json_loadb(record, reading->n_bad - (size_t)(record - reading->bad),
				  JSON_DISABLE_EOF_CHECK, NULL);
	return json_dumps(json_object_get(root, "plan"), 0);
}

/* What cannot be understood, with what can be found in it. */
static void find_fault(const char *name, const Reading *reading, RecordFaults *faults)
{
	_cleanup_free_ char *plan = reading->error == -EPROTO ? newer_plan(reading) : NULL;
	const char *why = reading->message ? reading->message : file_state_error(reading->error);

	if (reading->error == -EPROTO)
		record_faults_add(faults, &journal_kind, name, reading->error, why, plan,
				  plan ? strlen(plan) : 0);
	else
		record_faults_add(faults, &journal_kind, name, reading->error, why, reading->bad,
				  reading->n_bad);
}

/* So many bytes may have been the begin of another job, of which nothing can be read. */
#define BEGIN_MIN 1024U

/* What was damaged is not only of the job that was found. */
static bool is_of_others(const RecordFault *fault, size_t n_bad, const Plan *plan)
{
	_cleanup_free_ Bdf *functions = plan_addresses(plan);

	if (SOME(fault->functions, fault->n_functions, !bdf_in(it, functions, plan->n_functions)))
		return true;
	return fault->n_functions == 0 && n_bad >= BEGIN_MIN;
}

/* Quarantines what may be in it: we do not know what the job had begun. */
static void keep_apart(Claims *claims, const char *name, const Reading *reading)
{
	_cleanup_(record_faults_clear) RecordFaults faults = { 0 };

	find_fault(name, reading, &faults);
	if (!reading->job || is_of_others(&faults.items[0], reading->n_bad, reading->job->plan))
		claims_add_fault(claims, &faults.items[0]);
}

static OpenJob *take_job(Journal *journal, const char *name, Reading *reading)
{
	if (reading->error < 0)
		reading->job->damage = strf("its journal cannot be understood: %s",
					    str_or_empty(reading->message));
	(void)journal_job_open(journal, name, &reading->end, reading->job->id, true,
			       &reading->job->log);
	return TAKE_PTR(reading->job);
}

/*
 * An ended one takes the next job; what was cut off goes. One that cannot be written stays taken.
 */
static void take_ended(Journal *journal, const char *name, const Reading *reading)
{
	_cleanup_(journal_job_freep) JournalJob *log = NULL;

	if (reading->before)
		(void)journal->io.remove(journal->io.userdata, journal->dir_fd, name);
	else if (journal_job_open(journal, name, &reading->end, 0, false, &log) >= 0)
		log->ended = true;
}

static void load_one(Journal *journal, const char *name, Claims *claims, JournalFound *found)
{
	_cleanup_(reading_clear) Reading reading = { .found = found };
	uint64_t number;
	OpenJob *job;

	read_file(journal, name, &reading);
	number = reading.end.number;
	found->torn |= reading.torn > 0;
	if (reading.torn > 0)
		strv_appendf(&found->notes,
			     "journal/%s: its last line was cut off, and what that was to announce "
			     "was not begun",
			     name);
	journal_set_file(journal, number, &(JournalFile){ .taken = true, .end = reading.end });
	if (!reading.job && reading.error == 0)
		take_ended(journal, name, &reading);
	if (reading.error < 0)
		keep_apart(claims, name, &reading);
	if (!reading.job)
		return;
	job = take_job(journal, name, &reading);
	journal_set_file(
		journal, number,
		&(JournalFile){ .taken = true, .job = job->id, .end = job->log->file.end });
	*GROW(found->jobs, found->n_jobs) = job;
}

static bool is_file(const char *name)
{
	return str_ends_with(name, LEDGER_SUFFIX) || str_ends_with(name, JOURNAL_BEFORE_SUFFIX);
}

int journal_load(Journal *journal, Claims *claims, JournalFound *ret)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(journal->dir_fd, "", &names);

	*ret = (JournalFound){ 0 };
	for (size_t i = 0; i < JOURNAL_FILES_MAX; i++)
		journal_set_file(journal, i + 1, &(JournalFile){ 0 });
	for (char **name = names; name && *name; name++)
		if (is_file(*name))
			load_one(journal, *name, claims, ret);
		else if (str_ends_with(*name, FILE_DAMAGED_SUFFIX))
			strv_appendf(&ret->notes,
				     "journal/%s was set aside; see what it says, then remove it",
				     *name);
	return r;
}

/* Whose file it is; 0: none is. */
static uint64_t find_file(Journal *journal, uint32_t id)
{
	MUTEX_HOLD(&journal->lock);

	for (size_t i = 0; i < JOURNAL_FILES_MAX; i++)
		if (journal->files[i].taken && journal->files[i].job == id)
			return i + 1;
	return 0;
}

int journal_load_job(Journal *journal, uint32_t id, OpenJob **ret)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(reading_clear) Reading reading = { .found = &found };
	uint64_t number = find_file(journal, id);
	_cleanup_free_ char *name = ledger_name(number);

	if (number == 0)
		return -ENOENT;
	read_file(journal, name, &reading);
	if (!reading.job || reading.job->id != id)
		return reading.error < 0 ? reading.error : -ENOENT;
	*ret = take_job(journal, name, &reading);
	return 0;
}

static int forget_one(Journal *journal, const char *name, const char *group)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(reading_clear) Reading reading = { .found = &found };

	read_file(journal, name, &reading);
	if (!reading.job || !str_equal(reading.job->plan->group, group))
		return 0;
	return journal_remove_file(journal, name, reading.end.number);
}

int journal_forget_group(Journal *journal, const char *group)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(journal->dir_fd, "", &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		if (is_file(*name))
			r = forget_one(journal, *name, group);
	return r;
}
