/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the crash matrix does not have: a journal that cannot be written, and what stays open. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "job/clear.h"
#include "job/recover.h"
#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

#define RECORDS_MAX 64

typedef struct FailingIo {
	LedgerIo real;
	unsigned nth, calls; /* this append and all later ones fail */
	bool removes_fail;   /* once an append has failed */
} FailingIo;

static int failing_append(void *userdata, int fd, const char *text, size_t size)
{
	FailingIo *io = userdata;

	if (++io->calls < io->nth)
		return io->real.append(io->real.userdata, fd, text, size);
	/* A full disk takes a part. */
	assert_true(write(fd, text, size / 2) >= 0);
	return -ENOSPC;
}

static int failing_remove(void *userdata, int dir_fd, const char *name)
{
	FailingIo *io = userdata;
	int r = io->real.remove(io->real.userdata, dir_fd, name);

	return r == 0 && io->removes_fail && io->calls >= io->nth ? -EIO : r;
}

static void make_fail(Rig *rig, FailingIo *io)
{
	rig->journal.io.append = failing_append;
	rig->journal.io.remove = failing_remove;
	rig->journal.io.userdata = io;
}

/* Returns how many appends could fail. */
static unsigned fail_each_append(void (*setup)(Rig *rig))
{
	JobRequest request = assign_request("vm42", "pair0");
	bool done = false;
	unsigned nth;

	for (nth = 1; !done; nth++) {
		Rig *rig = rig_new();
		FailingIo io = { .real = rig->journal.io, .nth = nth };
		_cleanup_free_ char *before = NULL;
		Outcome outcome;

		assert_true(nth < RECORDS_MAX);
		setup(rig);
		before = rig_world(rig);
		make_fail(rig, &io);
		outcome = rig_run(rig, &request);
		done = outcome.state == JOB_DONE;
		if (!done) {
			rig_expect_failure(&outcome, GPUPASS_ERROR_STATE_READ_ONLY,
					   "the journal could not be written: No space left");
			rig_check_world(rig, before, "no space for the journal");
		}
		/* A file that takes no end can still be removed. */
		assert_int_equal(rig_count_open(rig), 0);
		outcome_clear(&outcome);
		rig_free(rig);
	}
	return nth - 1;
}

TEST(a_step_that_cannot_be_announced_is_not_begun)
{
	/* The begin; and before a guest gets anything. */
	assert_int_equal(fail_each_append(rig_shut_off), 2);
	assert_int_equal(fail_each_append(rig_running), 3);
}

/* fault 39 */
/*
 * It is undone, but its journal may come back: so nobody gets the group until it is gone for
 * certain.
 */
ON_A_RIG(a_job_whose_journal_cannot_be_closed_says_so)
{
	FailingIo io = { .real = rig->journal.io, .nth = 2, .removes_fail = true };
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL, *why = NULL;
	_cleanup_(claims_freep) Claims *next = claims_new();
	Outcome outcome;
	Bdf function;

	rig_running(rig);
	before = rig_world(rig);
	make_fail(rig, &io);
	outcome = rig_run(rig, &request);
	rig_check_world(rig, before, "the journal fails");
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_non_null(strstr(outcome.message, "; pair0 is quarantined: its journal could not be "
						"closed: Input/output error"));
	assert_non_null(strstr(outcome.remedy, "then: gpupass clear pair0"));
	outcome_clear(&outcome);
	rig->journal.io = io.real;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_QUARANTINED, "");
	/* On disk, too: the journal may be there, or not. */
	quarantine_store_load(&rig->quarantine, next);
	assert_int_equal(bdf_parse("0000:41:00.0", &function), 0);
	why = claims_quarantine_reason(next, &function, NULL);
	assert_non_null(why);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	assert_int_equal(rig_count_open(rig), 0);
	rig_must(rig, &request);
}

static OpenJob *open_job(Rig *rig, JournalFound *found)
{
	rig_leave_open(rig, STEP_DEFINE, NULL);
	assert_int_equal(journal_load(&rig->journal, rig->claims, found), 0);
	assert_int_equal(found->n_jobs, 1);
	assert_int_equal(found->last, 7);
	recover_claim(&rig->place, found->jobs[0], "it is being recovered");
	return found->jobs[0];
}

static char *why_quarantined(const Rig *rig)
{
	Bdf function;

	assert_int_equal(bdf_parse("0000:41:00.0", &function), 0);
	return claims_quarantine_reason(rig->claims, &function, NULL);
}

ON_A_RIG(without_libvirt_a_job_waits_and_is_undone_later)
{
	static const FakeFault down = { .op = FAKE_USES,
					.nth = 1,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	_cleanup_free_ char *before = NULL, *why = NULL, *after = NULL;
	Recovery recovery = { 0 };
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	OpenJob *job;

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	before = rig_world(rig);
	job = open_job(rig, &found);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &down);
	assert_int_equal(recover_job(&rig->place, job, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_WAITING);
	why = why_quarantined(rig);
	assert_non_null(why);
	recovery_clear(&recovery);
	assert_int_equal(recover_job(&rig->place, job, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_UNDONE);
	after = why_quarantined(rig);
	assert_null(after);
	rig_check_world(rig, before, "undone");
}

/* Another guest took the functions while no daemon was there. */
ON_A_RIG(a_guest_that_runs_is_left_alone)
{
	_cleanup_free_ char *before = NULL, *why = NULL;
	_cleanup_(claims_freep) Claims *next = NULL;
	Recovery recovery = { 0 };
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	OpenJob *job;
	Bdf function;

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	fake_add_domain(&rig->fake, "vm77", "q35-assigned", NULL);
	/* Defined elsewhere only after the job had been planned. */
	fake_redefine(&rig->fake, "vm77", "q35");
	job = open_job(rig, &found);
	fake_redefine(&rig->fake, "vm77", "q35-assigned");
	fake_start(&rig->fake, "vm77");
	before = rig_world(rig);
	assert_int_equal(recover_job(&rig->place, job, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_QUARANTINED);
	assert_non_null(strstr(recovery.reason, "vm77 runs with 0000:41:00.0"));
	rig_check_world(rig, before, "left alone");
	/* It is on disk. */
	next = claims_new();
	quarantine_store_load(&rig->quarantine, next);
	assert_int_equal(bdf_parse("0000:61:00.1", &function), 0);
	why = claims_quarantine_reason(next, &function, NULL);
	assert_string_equal(why, recovery.reason);
	recovery_clear(&recovery);
}

/* One bit of its third line, which is behind the begin, is not as it was written. */
static void damage_journal(Rig *rig)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	size_t size = 0;

	assert_int_equal(dir_list(rig->journal.dir_fd, "", &names), 0);
	assert_non_null(names);
	assert_int_equal(file_read_at(rig->journal.dir_fd, names[0], 1U << 20, &text, &size), 0);
	strchr(strchr(text, '\n') + 1, '\n')[20] ^= 1;
	fd = openat(rig->journal.dir_fd, names[0], O_WRONLY | O_TRUNC);
	assert_true(fd >= 0 && write(fd, text, size) == (ssize_t)size);
}

/* fault 40 */
/* What it did after that line nobody knows, so that nothing is undone by it: a person looks. */
ON_A_RIG(a_job_whose_journal_is_damaged_is_quarantined_and_kept_to_look_at)
{
	_cleanup_free_ char *before = NULL, *why = NULL;
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_strv_ char **left = NULL;
	Recovery recovery = { 0 };

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	(void)open_job(rig, &found);
	journal_found_clear(&found);
	damage_journal(rig);
	before = rig_world(rig);
	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	assert_int_equal(found.n_jobs, 1);
	assert_int_equal(recover_job(&rig->place, found.jobs[0], 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_QUARANTINED);
	assert_non_null(
		strstr(recovery.reason, "its journal cannot be understood: line 3: its checksum"));
	rig_check_world(rig, before, "a damaged journal");
	why = why_quarantined(rig);
	assert_string_equal(why, recovery.reason);
	recovery_clear(&recovery);
	journal_found_clear(&found);
	/* It is there to look at, and no start takes it up again. */
	assert_int_equal(dir_list(rig->journal.dir_fd, ".damaged", &left), 0);
	assert_true(left && left[0] && !left[1]);
	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	assert_int_equal(found.n_jobs, 0);
}

ON_A_RIG(clear_wants_the_worker_gone_and_every_function_to_answer)
{
	_cleanup_(problem_freep) Problem *stuck = NULL, *gone = NULL, *unknown = NULL;
	_cleanup_free_ char *why = NULL, *after = NULL;
	Recovery recovery = { 0 };
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	OpenJob *job;

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	job = open_job(rig, &found);
	for (size_t i = 0; i < rig->fake.snapshot->n_functions; i++)
		rig->fake.stuck[i] = true;
	assert_int_equal(recover_job(&rig->place, job, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, RECOVERED_QUARANTINED);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &stuck), PROBLEM);
	assert_non_null(strstr(stuck->reason, "worker 4711 still waits"));
	for (size_t i = 0; i < rig->fake.snapshot->n_functions; i++)
		rig->fake.stuck[i] = false;
	for (size_t i = 0; i < rig->fake.snapshot->n_functions; i++)
		rig->fake.gone[i] = true;
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &gone), PROBLEM);
	assert_non_null(strstr(gone->reason, "not all of its functions answer"));
	why = why_quarantined(rig);
	assert_non_null(why);
	for (size_t i = 0; i < rig->fake.snapshot->n_functions; i++)
		rig->fake.gone[i] = false;
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	after = why_quarantined(rig);
	assert_null(after);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &unknown), PROBLEM);
	assert_int_equal(unknown->error, GPUPASS_ERROR_NO_SUCH_GROUP);
	recovery_clear(&recovery);
}
