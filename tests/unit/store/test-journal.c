/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a cut leaves of a journal's file: its last record whole, or as if it had never been begun.
 */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>

#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

/* An assign that libvirt fails late, so that its journal has a record of each kind. */
static Rig *rig_that_fails(void)
{
	const FakeFault fault = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};
	Rig *rig = rig_new();

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &fault);
	return rig;
}

typedef struct Recorded {
	char *text;
	size_t size;
	JournalIo io;
} Recorded;

static int append_and_keep(void *userdata, int fd, const char *text, size_t size)
{
	Recorded *recorded = userdata;

	recorded->text = realloc(recorded->text, recorded->size + size + 1);
	assert_non_null(recorded->text);
	memcpy(recorded->text + recorded->size, text, size + 1);
	recorded->size += size;
	return recorded->io.append(recorded->io.userdata, fd, text, size);
}

/* All that the journal of an assign that fails is ever told; its text is the caller's. */
static Recorded record(Rig *rig)
{
	const JobRequest request = assign_request("vm42", "pair0");
	Recorded recorded = { .io = rig->journal.io };
	Outcome outcome;

	rig->journal.io.append = append_and_keep;
	rig->journal.io.userdata = &recorded;
	outcome = rig_run(rig, &request);
	rig->journal.io = recorded.io;
	outcome_clear(&outcome);
	return recorded;
}

static void put_journal(const Rig *rig, const char *text, size_t size)
{
	_cleanup_close_ int fd = openat(rig->journal.dir_fd, "7.journal",
					O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
}

/* "begun 2, rolling back 0"; "none" without a job. Its tail is then gone. */
static char *load_text(const Rig *rig, size_t *ret_size)
{
	_cleanup_strv_ char **notes = NULL;
	_cleanup_free_ char *kept_apart = NULL;
	OpenJob **jobs = NULL;
	uint32_t last = 0;
	size_t n = 0;
	char *text;

	assert_int_equal(journal_load(&rig->journal, rig->claims, &jobs, &n, &last, &notes), 0);
	assert_null(notes);
	kept_apart = claims_quarantine_names(rig->claims);
	assert_string_equal(kept_apart, "");
	text = n == 0 ? strdup("none")
		      : strf("begun %zu, rolling back %d, damage %s", jobs[0]->begun,
			     jobs[0]->rolling_back, str_or_empty(jobs[0]->damage));
	*ret_size = n == 0 ? 0 : (size_t)jobs[0]->log->size;
	open_jobs_free(jobs, n);
	return text;
}

/* fault 37 */
TEST(a_record_cut_off_at_any_byte_never_happened)
{
	Rig *rig = rig_that_fails();
	Recorded recorded = record(rig);
	_cleanup_free_ char *whole = NULL;
	size_t end = 0, whole_end = 0;

	whole = strdup("none");
	for (size_t size = 1; size < recorded.size; size++) {
		_cleanup_free_ char *now = NULL;

		put_journal(rig, recorded.text, size);
		now = load_text(rig, &end);
		if (recorded.text[size - 1] == '\n') {
			free(whole);
			whole = TAKE_PTR(now);
			whole_end = size;
			assert_null(strstr(whole, "none"));
			assert_null(strstr(whole, "journal"));
		} else if (!str_equal(whole, now) || end != whole_end) {
			fail_msg("cut after %zu bytes: \"%s\" instead of \"%s\"", size, now, whole);
		}
	}
	assert_string_equal(whole, "begun 3, rolling back 1, damage ");
	free(recorded.text);
	rig_free(rig);
}

/* fault 40 */
/* promise F1 */
TEST(a_line_that_is_not_the_last_must_be_whole)
{
	Rig *rig = rig_that_fails();
	Recorded recorded = record(rig);
	_cleanup_free_ char *now = NULL;
	size_t size;

	strchr(recorded.text, '\n')[20] ^= 1;
	put_journal(rig, recorded.text, recorded.size);
	now = load_text(rig, &size);
	assert_non_null(strstr(now, "line 2 of its journal: its checksum is wrong"));
	free(recorded.text);
	rig_free(rig);
}

/* A journal of the version before: the same lines, of which none has a mode. */
TEST(a_journal_of_the_version_before_is_read)
{
	Rig *rig = rig_that_fails();
	Recorded recorded = record(rig);
	_cleanup_free_ char *now = NULL;
	size_t size;

	for (char *line = recorded.text; *line; line = strchr(line, '\n') + 1) {
		assert_true(str_starts_with(line, "2 "));
		*line = '1';
	}
	/* Without its end it is open. */
	*strstr(recorded.text + recorded.size - 40, "\n1 ") = '\0';
	put_journal(rig, recorded.text, strlen(recorded.text));
	now = load_text(rig, &size);
	assert_string_equal(now, "begun 3, rolling back 1, damage ");
	free(recorded.text);
	rig_free(rig);
}
