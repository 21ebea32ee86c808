/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "core/facts/remains.h"
#include "core/plan/record.h"
#include "store/journal-line.h"
#include "store/unread.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define SUFFIX ".journal"

/* ---- writing ---- */

static int append_durably(_unused_ void *userdata, int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		size -= (size_t)n;
	}
	return fdatasync(fd) < 0 ? -errno : 0;
}

static int remove_durably(_unused_ void *userdata, int dir_fd, const char *name)
{
	return file_remove_at(dir_fd, name);
}

int journal_open(const char *directory, Journal *ret)
{
	*ret = (Journal){ .dir_fd = -1, .io = { append_durably, remove_durably, NULL } };
	return dir_open_private(directory, &ret->dir_fd);
}

void journal_close(Journal *journal)
{
	journal->dir_fd = close_fd(journal->dir_fd);
	free(journal->boot_id);
	journal->boot_id = NULL;
}

JournalJob *journal_job_free(JournalJob *job)
{
	if (!job)
		return NULL;
	close_fd(job->fd);
	free(job->name);
	free(job);
	return NULL;
}

static int job_open(const Journal *journal, const char *name, int flags, JournalJob **ret)
{
	_cleanup_(journal_job_freep) JournalJob *job = xcalloc(1, sizeof(JournalJob));

	job->journal = journal;
	job->fd = -1;
	job->name = xstrdup(name);
	job->fd = openat(journal->dir_fd, name,
			 O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	if (job->fd < 0)
		return -errno;
	*ret = TAKE_PTR(job);
	return 0;
}

/* Removes the rest of a failed write, which would become part of the next line. */
static int append(JournalJob *job, const char *text)
{
	const JournalIo *io = &job->journal->io;
	size_t size = strlen(text);
	int r;

	if (job->broken)
		return -EIO;
	r = io->append(io->userdata, job->fd, text, size);
	if (r >= 0) {
		job->size += (off_t)size;
		return 0;
	}
	if (ftruncate(job->fd, job->size) < 0)
		job->broken = true;
	return r;
}

/* Takes `record`. */
static int append_record(JournalJob *job, json_t *record)
{
	_cleanup_json_ json_t *owned = record;
	_cleanup_free_ char *line = journal_line(owned);

	return append(job, line);
}

static json_t *begin_record(const Journal *journal, uint32_t id, const Plan *plan,
			    const Assignment *previous, const char *live_xml)
{
	_cleanup_free_ char *before = previous ? assignment_to_json(previous) : NULL;

	return json_build("{s:s, s:I, s:s?, s:o, s:s?, s:s?}", "record", "begin", "job",
			  (json_int_t)id, "boot_id", journal->boot_id, "plan", plan_to_record(plan),
			  "previous", before, "live_xml", live_xml);
}

int journal_begin(const Journal *journal, uint32_t id, const Plan *plan, const Assignment *previous,
		  const char *live_xml, JournalJob **ret)
{
	_cleanup_(journal_job_freep) JournalJob *job = NULL;
	_cleanup_free_ char *name = strf("%" PRIu32 SUFFIX, id);
	int r;

	r = job_open(journal, name, O_CREAT | O_EXCL, &job);
	if (r >= 0 && !job)
		r = -EIO; /* which the analyzer believes to happen */
	if (r < 0)
		return r;
	r = append_record(job, begin_record(journal, id, plan, previous, live_xml));
	if (r >= 0 && fsync(journal->dir_fd) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(journal->dir_fd, name, 0);
		return r;
	}
	*ret = TAKE_PTR(job);
	return 0;
}

static int append_step(JournalJob *job, const char *record, size_t step)
{
	return append_record(job,
			     json_build("{s:s, s:I}", "record", record, "step", (json_int_t)step));
}

static int append_result(JournalJob *job, const char *record, size_t step, bool ok)
{
	return append_record(job, json_build("{s:s, s:I, s:b}", "record", record, "step",
					     (json_int_t)step, "ok", (int)ok));
}

int journal_intent(JournalJob *job, size_t step)
{
	return append_step(job, "intent", step);
}

int journal_outcome(JournalJob *job, size_t step, bool ok)
{
	return append_result(job, "outcome", step, ok);
}

int journal_undo(JournalJob *job, size_t step)
{
	return append_step(job, "undo", step);
}

int journal_undone(JournalJob *job, size_t step, bool ok)
{
	return append_result(job, "undone", step, ok);
}

/* On a full disk, appending the record fails, but removing the file works. */
int journal_end(JournalJob *job)
{
	const JournalIo *io = &job->journal->io;

	(void)append_record(job, json_build("{s:s}", "record", "end"));
	return io->remove(io->userdata, job->journal->dir_fd, job->name);
}

int journal_set_aside(JournalJob *job)
{
	return journal_set_aside_file(job->journal, job->name);
}

int journal_set_aside_file(const Journal *journal, const char *name)
{
	int r = file_set_aside_at(journal->dir_fd, name);

	return r == -ENOENT ? 0 : r;
}

/* ---- reading ---- */

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

static int read_begin(const json_t *record, OpenJob *job, char **ret_message)
{
	const char *here = job->log ? job->log->journal->boot_id : NULL;
	const char *previous, *then;
	unsigned long long id = 0;
	int r;

	if (!str_equal(json_string_value(json_object_get(record, "record")), "begin") ||
	    json_get_unsigned(record, "job", UINT32_MAX, &id) < 0) {
		*ret_message = xstrdup("it does not begin with a begin");
		return -EBADMSG;
	}
	job->id = (uint32_t)id;
	then = json_string_value(json_object_get(record, "boot_id"));
	job->rebooted = here && then && strcmp(here, then) != 0;
	r = plan_from_record(json_object_get(record, "plan"), &job->plan, ret_message);
	if (r < 0)
		return r;
	job->live_xml = xstrdup(json_string_value(json_object_get(record, "live_xml")));
	previous = json_string_value(json_object_get(record, "previous"));
	if (!previous)
		return 0;
	r = assignment_from_json(previous, strlen(previous), &job->previous, ret_message);
	return r == -EPROTO ? -EBADMSG : r;
}

/* 1: the job has ended. */
static int read_step(const json_t *record, OpenJob *job)
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

/* 1: there is nothing to recover; otherwise as for journal_line_parse(). */
static int read_lines(char *text, size_t size, OpenJob *job, char **ret_message)
{
	const char *all = text + size;
	char *end = memchr(text, '\n', size);

	if (!end)
		return 1; /* cut off in its first line: nothing was begun */
	for (size_t i = 0; end;
	     i++, text = end + 1, end = memchr(text, '\n', (size_t)(all - text))) {
		_cleanup_json_ json_t *record = NULL;
		int r = -EBADMSG;

		*end = '\0';
		if (strlen(text) == (size_t)(end - text))
			r = journal_line_parse(text, &record, ret_message);
		else
			*ret_message = xstrdup("there is a zero in it");
		if (r >= 0)
			r = i == 0 ? read_begin(record, job, ret_message) : read_step(record, job);
		if (r == 1 || (r < 0 && i == 0))
			return r;
		if (r == 0) {
			job->log->size += (off_t)(end + 1 - text);
			continue;
		}
		job->damage = strf("line %zu of its journal: %s", i + 1,
				   *ret_message ? *ret_message : "no such record can be");
		return 0;
	}
	return 0;
}

/* Finds functions and group in the first line of a journal, as far as it can be read. */
static void read_remains(const char *text, size_t size, bool other_version, Remains *ret)
{
	const char *end = memchr(text, '\n', size);
	size_t length = end ? (size_t)(end - text) : size;
	const char *record = memchr(text, '{', length);
	_cleanup_json_ json_t *root = NULL;

	if (other_version && record)
		root = json_loadb(record, length - (size_t)(record - text), 0, NULL);
	*ret = other_version ? remains_of_object(json_object_get(root, "plan"))
			     : remains_scan(text, length);
}

/* Quarantines what the first line names: we do not know what the job had begun. */
static void keep_apart(Claims *claims, const char *name, int error, const char *message,
		       const char *text, size_t size)
{
	_cleanup_(remains_clear) Remains remains = { 0 };

	if (text)
		read_remains(text, size, error == -EPROTO, &remains);
	unread_claim(claims, &(UnreadFile){
				     .directory = "journal",
				     .name = name,
				     .error = error,
				     .message = message,
				     .remains = &remains,
			     });
}

static int load_one(const Journal *journal, const char *name, OpenJob ***jobs, size_t *n,
		    Claims *claims)
{
	_cleanup_(open_job_freep) OpenJob *job = xcalloc(1, sizeof(OpenJob));
	_cleanup_free_ char *text = NULL, *lines = NULL, *message = NULL;
	size_t size = 0;
	int r;

	r = file_read_state_at(journal->dir_fd, name, JOURNAL_FILE_MAX, &text, &size);
	if (r >= 0) {
		r = job_open(journal, name, 0, &job->log);
		if (r < 0)
			return r;
		/* Which reading cuts into lines. */
		lines = xmemdup(text, size + 1);
		r = read_lines(lines, size, job, &message);
	}
	if (r == 1)
		return journal->io.remove(journal->io.userdata, journal->dir_fd, name);
	if (r < 0) {
		if (claims)
			keep_apart(claims, name, r, message, text, size);
		return 0;
	}
	/* Remove the line that was cut off, or the next record would become part of it. */
	if (!job->damage && ftruncate(job->log->fd, job->log->size) < 0)
		return -errno;
	*jobs = xreallocarray(*jobs, *n + 1, sizeof(OpenJob *));
	(*jobs)[(*n)++] = TAKE_PTR(job);
	return 0;
}

static uint32_t id_of(const char *name)
{
	_cleanup_free_ char *number = xstrndup(name, strcspn(name, "."));
	unsigned long long id = 0;

	if (str_to_unsigned(number, 10, UINT32_MAX, &id) < 0)
		return 0;
	return (uint32_t)id;
}

/* Reports these files as long as they are there. */
static int note_set_aside(const Journal *journal, uint32_t *last, char ***notes)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(journal->dir_fd, ".damaged", &names);

	for (char **name = names; r >= 0 && name && *name; name++) {
		if (id_of(*name) > *last)
			*last = id_of(*name);
		strv_appendf(notes, "journal/%s was set aside; see what it says, then remove it",
			     *name);
	}
	return r;
}

int journal_load(const Journal *journal, Claims *claims, OpenJob ***ret, size_t *ret_n,
		 uint32_t *ret_last, char ***ret_notes)
{
	_cleanup_strv_ char **names = NULL, **notes = NULL;
	OpenJob **jobs = NULL;
	uint32_t last = 0;
	size_t n = 0;
	int r;

	r = note_set_aside(journal, &last, &notes);
	if (r >= 0)
		r = dir_list(journal->dir_fd, SUFFIX, &names);
	for (char **name = names; r >= 0 && name && *name; name++) {
		if (id_of(*name) > last)
			last = id_of(*name);
		r = load_one(journal, *name, &jobs, &n, claims);
	}
	if (r < 0) {
		open_jobs_free(jobs, n);
		return r;
	}
	*ret = jobs;
	*ret_n = n;
	*ret_last = last;
	*ret_notes = TAKE_PTR(notes);
	return 0;
}

int journal_load_job(const Journal *journal, uint32_t id, OpenJob **ret)
{
	_cleanup_free_ char *name = strf("%u" SUFFIX, id);
	OpenJob **jobs = NULL;
	size_t n = 0;
	int r = load_one(journal, name, &jobs, &n, NULL);

	if (r >= 0 && n == 0)
		r = -ENOENT;
	if (r >= 0)
		*ret = TAKE_PTR(jobs[0]);
	free(jobs);
	return r < 0 ? r : 0;
}

static int forget_one(const Journal *journal, const char *name, const char *group)
{
	_cleanup_(open_job_freep) OpenJob *job = xcalloc(1, sizeof(OpenJob));
	_cleanup_free_ char *text = NULL, *message = NULL;
	_cleanup_json_ json_t *record = NULL;
	size_t size = 0;
	int r;

	r = file_read_state_at(journal->dir_fd, name, JOURNAL_FILE_MAX, &text, &size);
	if (r < 0)
		return r == -ENOENT || file_state_damaged(r) ? 0 : r; /* the job ended meanwhile */
	text[strcspn(text, "\n")] = '\0';
	r = journal_line_parse(text, &record, &message);
	if (r >= 0)
		r = read_begin(record, job, &message);
	if (r < 0 || !str_equal(job->plan->group, group))
		return 0;
	return journal->io.remove(journal->io.userdata, journal->dir_fd, name);
}

int journal_forget_group(const Journal *journal, const char *group)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(journal->dir_fd, SUFFIX, &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		r = forget_one(journal, *name, group);
	return r;
}
