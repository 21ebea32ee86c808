/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a cut, a power cut or damage leaves of a file of the journal: its last line whole, or as if
 * it had never been begun; or what it may be about is kept apart.
 */
#include "rig/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

#define FILE_NAME "1.log"

typedef struct Recorded {
	char *text;
	size_t size, header; /* of the first line */
} Recorded;

/* The file of an assign that libvirt fails late, so that it has a record of each kind; its text is the
 * caller's. */
static Recorded record(Rig *rig)
{
	static const FakeFault fault = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};
	Recorded recorded = { 0 };

	rig_shut_off(rig);
	fake_fail(&rig->fake, &fault);
	rig_try(rig, &ASSIGN);
	assert_int_equal(file_read_at(rig->journal.dir_fd, FILE_NAME, 1 << 20, &recorded.text,
				      &recorded.size),
			 0);
	recorded.header = strcspn(recorded.text, "\n") + 1;
	return recorded;
}

static void put(const Rig *rig, const char *name, const char *text, size_t size)
{
	_cleanup_close_ int fd =
		openat(rig->journal.dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
}

/* "begun 2, rolling back 0"; "none" without a job; "kept apart NAMES". */
static char *load_text(Rig *rig, size_t *ret_size)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(claims_freep) Claims *claims = claims_new();
	_cleanup_free_ char *kept_apart = NULL;
	const OpenJob *job;

	assert_int_equal(journal_load(&rig->journal, claims, &found), 0);
	kept_apart = claims_quarantine_names(claims);
	*ret_size = found.n_jobs == 0 ? 0 : (size_t)found.jobs[0]->log->file.end.size;
	if (*kept_apart)
		return strf("kept apart %s%s", kept_apart, found.n_jobs > 0 ? " and a job" : "");
	if (found.n_jobs == 0)
		return strdup("none");
	job = found.jobs[0];
	return strf("begun %zu, rolling back %d, damage %s", job->begun, job->rolling_back,
		    str_or_empty(job->damage));
}

/* fault 37 */
ON_A_RIG(a_record_cut_off_at_any_byte_never_happened)
{
	Recorded recorded = record(rig);
	_cleanup_free_ char *whole = NULL;
	size_t end = 0, whole_end = 0;

	whole = strdup("none");
	for (size_t size = recorded.header; size < recorded.size; size++) {
		_cleanup_free_ char *now = NULL;
		struct stat st;

		put(rig, FILE_NAME, recorded.text, size);
		now = load_text(rig, &end);
		if (recorded.text[size - 1] == '\n') {
			free(whole);
			whole = TAKE_PTR(now);
			whole_end = end;
			assert_null(strstr(whole, "journal"));
			assert_true(end == 0 || end == size);
		} else if (!str_equal(whole, now) || end != whole_end) {
			fail_msg("cut after %zu bytes: \"%s\" instead of \"%s\"", size, now, whole);
		}
		/* What was cut off is gone, so that the next line begins where it should. */
		assert_int_equal(fstatat(rig->journal.dir_fd, FILE_NAME, &st, 0), 0);
		if (end > 0)
			assert_int_equal(st.st_size, end);
	}
	assert_string_equal(whole, "begun 3, rolling back 1, damage ");
	free(recorded.text);
}

/* A file is put in place with its first line: no power cut leaves a part of it. */
/* fault 40 */
ON_A_RIG(a_file_without_its_first_line_keeps_everything_apart)
{
	Recorded recorded = record(rig);
	size_t end;

	for (size_t size = 0; size < recorded.header; size++) {
		_cleanup_free_ char *now = NULL;

		put(rig, FILE_NAME, recorded.text, size);
		now = load_text(rig, &end);
		if (!str_equal(now, "kept apart journal/1.log"))
			fail_msg("cut after %zu bytes: %s", size, now);
	}
	free(recorded.text);
}

/* What became of a file whose begin is line 2. */
typedef struct Damage {
	const char *name;
	unsigned filled; /* from this line on, with this; 0: none */
	char with;
	unsigned changed;  /* a character of this line; 0: none */
	const char *lines; /* that it has, in this order; NULL: all */
	const char *expected;
} Damage;

/* The begin of line `n`, from 1. */
static char *line_at(char *text, unsigned n)
{
	while (--n > 0)
		text = strchr(text, '\n') + 1;
	return text;
}

/* Returns the size. `text` has room for all lines. */
static size_t do_damage(const Damage *damage, const Recorded *of, char *text)
{
	_cleanup_free_ char *from = strdup(of->text);
	size_t size = 0;

	if (damage->changed > 0)
		line_at(from, damage->changed)[70] ^= 1;
	for (const char *c = str_or_empty(damage->lines); *c; c++) {
		const char *line = line_at(from, (unsigned)(*c - '0'));
		size_t n = strcspn(line, "\n") + 1;

		memcpy(text + size, line, n);
		size += n;
	}
	if (damage->lines)
		return size;
	memcpy(text, from, of->size);
	if (damage->filled > 0) {
		size_t begin = (size_t)(line_at(from, damage->filled) - from);

		/* As a power cut leaves it, without a newline. */
		memset(text + begin, damage->with, of->size - begin - (damage->with != 0));
	}
	return of->size;
}

#define APART "kept apart journal/1.log"

static const Damage damages[] = {
	ROW("zeros", .filled = 1, .with = '\0', .expected = APART),
	ROW("zeros behind the first line", .filled = 2, .with = '\0', .expected = APART),
	ROW("of another kind", .filled = 1, .with = 'x', .expected = APART),
	/* Without its end the job is open, and its begin is whole. */
	ROW("first line changed", .changed = 1, .lines = "12",
	    .expected = "begun 2, rolling back 0, damage "),
	ROW("begin changed", .changed = 2, .lines = "123", .expected = APART),
	ROW("begin changed, and ended", .changed = 2, .expected = "none"),
	ROW("step changed", .changed = 3, .lines = "1234",
	    .expected = "line 3: its checksum is wrong"),
	ROW("step taken out", .lines = "124",
	    .expected = "line 3: it does not follow the one before"),
	ROW("step twice", .lines = "1233", .expected = "line 4: it does not follow the one before"),
};

/* fault 40 */
/* promise F1 */
ON_A_RIG(whatever_is_damaged_of_an_open_job_keeps_it_apart)
{
	Recorded recorded = record(rig);

	for (size_t i = 0; i < ELEMENTS(damages); i++) {
		_cleanup_free_ char *text = calloc(2, recorded.size), *now = NULL;
		size_t size = do_damage(&damages[i], &recorded, text), end;

		put(rig, FILE_NAME, text, size);
		now = load_text(rig, &end);
		if (!strstr(now, damages[i].expected))
			fail_msg("%s: %s", damages[i].name, now);
	}
	free(recorded.text);
}

/* What a damaged begin names is known, so that other groups go on. */
ON_A_RIG(a_damaged_begin_keeps_its_functions_apart_and_no_others)
{
	Recorded recorded = record(rig);
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_free_ char *mine = NULL, *other = NULL;
	const Bdf in_it = { 0, 0x61, 0, 1 }, not_in_it = { 0, 0xa1, 0, 0 };

	line_at(recorded.text, 2)[70] ^= 1;
	put(rig, FILE_NAME, recorded.text, (size_t)(line_at(recorded.text, 3) - recorded.text));
	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	mine = claims_quarantine_reason(rig->claims, &in_it, NULL);
	other = claims_quarantine_reason(rig->claims, &not_in_it, NULL);
	assert_non_null(mine);
	assert_non_null(strstr(mine, "journal/1.log cannot be understood (line 2: its checksum"));
	assert_null(other);
	free(recorded.text);
}

/* ---- files go from job to job ---- */

static size_t count_names(const Rig *rig)
{
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(rig->journal.dir_fd, "", &names), 0);
	return strv_length(names);
}

ON_A_RIG(one_file_serves_job_after_job_and_the_next_daemon_goes_on_with_it)
{
	for (int i = 0; i < 3; i++) {
		_cleanup_(journal_found_clear) JournalFound found = { 0 };

		rig_must(rig, &BIND);
		rig_must(rig, &UNBIND);
		assert_int_equal(count_names(rig), 1);
		assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
		assert_int_equal(found.n_jobs, 0);
		assert_null(found.notes);
		assert_int_equal(found.n_ended, 2 * (i + 1));
		assert_int_equal(found.last, 2 * (i + 1));
	}
}

static JournalJob *begin_one(Rig *rig, const Plan *plan, uint32_t id)
{
	JournalJob *job = NULL;

	assert_int_equal(journal_begin(&rig->journal, id, plan, NULL, NULL, 2, &job), 0);
	return job;
}

ON_A_RIG(jobs_at_once_have_a_file_each_and_a_full_one_is_begun_anew)
{
	const Plan *plan = rig_plan(rig, &BIND);
	JournalJob *jobs[3];
	struct stat st;

	for (uint32_t i = 0; i < 3; i++)
		jobs[i] = begin_one(rig, plan, 10 + i);
	assert_int_equal(count_names(rig), 3);
	assert_int_equal(rig_count_open(rig), 3);
	assert_int_equal(journal_end(jobs[1]), 0);
	journal_job_free(jobs[1]);
	assert_int_equal(rig_count_open(rig), 2);
	jobs[1] = begin_one(rig, plan, 20);
	assert_string_equal(jobs[1]->name, "2.log");
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(journal_end(jobs[i]), 0);
		journal_job_free(jobs[i]);
	}
	assert_int_equal(rig_count_open(rig), 0);
	rig->journal.files[0].end.size = JOURNAL_FILE_BYTES;
	jobs[0] = begin_one(rig, plan, 30);
	assert_string_equal(jobs[0]->name, "1.log");
	assert_int_equal(fstatat(rig->journal.dir_fd, "1.log", &st, 0), 0);
	assert_int_equal(st.st_size, jobs[0]->file.end.size);
	assert_int_equal(rig_count_open(rig), 1);
	journal_job_free(jobs[0]);
}

typedef struct Several {
	Rig *rig;
	const Plan *plan;
	uint32_t first;
} Several;

#define JOBS_EACH 20

static void *begin_and_end(void *data)
{
	const Several *several = data;

	for (uint32_t i = 0; i < JOBS_EACH; i++) {
		JournalJob *job = NULL;

		if (journal_begin(&several->rig->journal, several->first + i, several->plan, NULL,
				  NULL, 1, &job) < 0)
			return data;
		journal_note(job, "intent", 1);
		if (journal_flush(job) < 0 || journal_end(job) < 0)
			return data;
		journal_job_free(job);
	}
	return NULL;
}

ON_A_RIG(threads_that_begin_at_once_never_meet_in_a_file)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	const Plan *plan = rig_plan(rig, &BIND);
	Several several[8];
	pthread_t threads[8];

	for (uint32_t i = 0; i < 8; i++) {
		several[i] = (Several){ rig, plan, 100 * (i + 1) };
		assert_int_equal(pthread_create(&threads[i], NULL, begin_and_end, &several[i]), 0);
	}
	for (size_t i = 0; i < 8; i++) {
		void *failed = NULL;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_true(count_names(rig) <= 8);
	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	assert_int_equal(found.n_jobs, 0);
	assert_int_equal(found.n_ended, 8 * JOBS_EACH);
	assert_int_equal(rig_count_open(rig), 0);
}

/* ---- what the versions before left ---- */

static char *fixture(const char *name, size_t *ret_size)
{
	_cleanup_free_ char *path = strf(FIXTURES "/journals/%s", name);
	char *text = NULL;

	assert_int_equal(file_read_at(AT_FDCWD, path, 1 << 20, &text, ret_size), 0);
	return text;
}

TEST(a_journal_of_a_version_before_is_read_and_goes_with_its_job)
{
	static const char *const names[] = { "1.journal", "2.journal" };

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		Rig *rig = rig_new();
		_cleanup_(journal_found_clear) JournalFound found = { 0 };
		size_t size = 0, end;
		_cleanup_free_ char *text = fixture(names[i], &size), *now = NULL;

		put(rig, "7.journal", text, size);
		now = load_text(rig, &end);
		assert_string_equal(now, "begun 3, rolling back 1, damage ");
		assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
		assert_int_equal(found.last, 1);
		journal_note(found.jobs[0]->log, "undo", 0);
		assert_int_equal(journal_flush(found.jobs[0]->log), 0);
		assert_int_equal(journal_end(found.jobs[0]->log), 0);
		assert_int_equal(count_names(rig), 0);
		rig_free(rig);
	}
}

#define TEXT_SIZE(text) text, sizeof(text) - 1
#define BEGIN(version, functions)                                                                  \
	version " 00000000 {\"record\":\"begin\",\"job\":7,\"plan\":{\"group\":\"pair0\","         \
		"\"functions\":[" functions "]}}\n"
#define FIRST "{\"bdf\":\"0000:41:00.0\"}"
#define BOTH FIRST ",{\"bdf\":\"0000:61:00.0\"}"

/* fault 40 */
TEST(a_damaged_journal_of_a_version_before_keeps_apart_what_it_names)
{
	static const struct {
		const char *text;
		size_t size;
		bool all; /* groups: it names none */
	} rows[] = {
		{ TEXT_SIZE(BEGIN("2", BOTH)), false },
		{ TEXT_SIZE(BEGIN("2", FIRST)), false },
		{ TEXT_SIZE(BEGIN("9", BOTH)), false },
		{ TEXT_SIZE(BEGIN("9", "")), true },
		{ TEXT_SIZE("2 00000000 {}\n"), true },
		{ TEXT_SIZE("\0\0\0\0\0\0\0\0\0\0\0\0\n"), true },
		{ TEXT_SIZE("9 what\n"), true },
		{ TEXT_SIZE("9 what"), true },
		{ TEXT_SIZE(""), true },
	};
	const Bdf in_it = { 0, 0x41, 0, 0 }, not_in_it = { 0, 0xa1, 0, 0 };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Rig *rig = rig_new();
		_cleanup_(journal_found_clear) JournalFound found = { 0 };
		_cleanup_free_ char *mine = NULL, *other = NULL;

		put(rig, "7.journal", rows[i].text, rows[i].size);
		assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
		mine = claims_quarantine_reason(rig->claims, &in_it, NULL);
		other = claims_quarantine_reason(rig->claims, &not_in_it, NULL);
		if (found.n_jobs > 0 || !mine || !strstr(mine, "journal/7.journal") ||
		    !other == rows[i].all || count_names(rig) != 1)
			fail_msg("row %zu: %s", i, str_or_empty(mine));
		rig_free(rig);
	}
}

ON_A_RIG(a_change_in_a_journal_of_a_version_before_is_noticed)
{
	size_t size = 0, end;
	_cleanup_free_ char *text = fixture("2.journal", &size), *now = NULL, *cut = NULL;

	text[30] ^= 1;
	put(rig, "7.journal", text, size);
	now = load_text(rig, &end);
	assert_string_equal(now, "kept apart journal/7.journal");
	text[30] ^= 1;
	put(rig, "7.journal", text, strcspn(text, "\n") - 1);
	cut = load_text(rig, &end);
	assert_string_equal(cut, "kept apart journal/7.journal");
}
