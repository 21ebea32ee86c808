/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a start makes of the files of the journal, and what a person has settled. */
#include <errno.h>
#include <string.h>

#include "store/journal-private.h"
#include "store/journal.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/mutex.h"
#include "util/text.h"

const RecordKind journal_kind = { .folder = "journal", .apart = true, .of_group = true };

/* The plan of a job that another version began; NULL: there is none. */
static char *newer_plan(const JournalReading *reading)
{
	const char *record = reading->n_bad > 0 ? memchr(reading->bad, '{', reading->n_bad) : NULL;
	_cleanup_json_ json_t *root = NULL;

	if (record)
		root = json_loadb(record, reading->n_bad - (size_t)(record - reading->bad),
				  JSON_DISABLE_EOF_CHECK, NULL);
	return json_dumps(json_object_get(root, "plan"), 0);
}

/* What cannot be understood, with what can be found in it. */
static void find_fault(const char *name, const JournalReading *reading, RecordFaults *faults)
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

	for (size_t i = 0; i < fault->n_functions; i++)
		if (!bdf_in(&fault->functions[i], functions, plan->n_functions))
			return true;
	return fault->n_functions == 0 && n_bad >= BEGIN_MIN;
}

/* Quarantines what may be in it: we do not know what the job had begun. */
static void keep_apart(Claims *claims, const char *name, const JournalReading *reading)
{
	_cleanup_(record_faults_clear) RecordFaults faults = { 0 };

	find_fault(name, reading, &faults);
	if (!reading->job || is_of_others(&faults.items[0], reading->n_bad, reading->job->plan))
		claims_add_fault(claims, &faults.items[0]);
}

static OpenJob *take_job(Journal *journal, const char *name, JournalReading *reading)
{
	if (reading->error < 0)
		reading->job->damage = strf("its journal cannot be understood: %s",
					    str_or_empty(reading->message));
	(void)journal_job_open(journal, name, &reading->end, reading->job->id, true,
			       &reading->job->log);
	return TAKE_PTR(reading->job);
}

/* An ended one takes the next job; what was cut off goes. One that cannot be written stays taken. */
static void take_ended(Journal *journal, const char *name, const JournalReading *reading)
{
	_cleanup_(journal_job_freep) JournalJob *log = NULL;

	if (reading->before)
		(void)journal->io.remove(journal->io.userdata, journal->dir_fd, name);
	else if (journal_job_open(journal, name, &reading->end, 0, false, &log) >= 0)
		log->ended = true;
}

static void load_one(Journal *journal, const char *name, Claims *claims, JournalFound *found)
{
	_cleanup_(journal_reading_clear) JournalReading reading = { .found = found };
	uint64_t number;
	OpenJob *job;

	journal_read(journal, name, &reading);
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
	_cleanup_(journal_reading_clear) JournalReading reading = { .found = &found };
	uint64_t number = find_file(journal, id);
	_cleanup_free_ char *name = ledger_name(number);

	if (number == 0)
		return -ENOENT;
	journal_read(journal, name, &reading);
	if (!reading.job || reading.job->id != id)
		return reading.error < 0 ? reading.error : -ENOENT;
	*ret = take_job(journal, name, &reading);
	return 0;
}

static int forget_one(Journal *journal, const char *name, const char *group)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(journal_reading_clear) JournalReading reading = { .found = &found };

	journal_read(journal, name, &reading);
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
