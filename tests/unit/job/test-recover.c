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
static unsigned fail_each_append(void (*arrange)(Rig *rig))
{
	bool done = false;
	unsigned nth;

	for (nth = 1; !done; nth++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		FailingIo io = { .real = rig->journal.io, .nth = nth };

		assert_true(nth < RECORDS_MAX);
		arrange(rig);
		rig_note_world(rig);
		make_fail(rig, &io);
		done = rig_try(rig, &ASSIGN)->state == JOB_DONE;
		if (!done) {
			rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_STATE_READ_ONLY,
				   "the journal could not be written: No space left");
			rig_check_noted(rig);
		}
		/* A file that takes no end can still be removed. */
		assert_int_equal(rig_count_open(rig), 0);
	}
	return nth - 1;
}

TEST(a_step_that_cannot_be_announced_is_not_begun)
{
	/* The begin; and before a guest gets anything. */
	assert_int_equal(fail_each_append(rig_shut_off), 2);
	assert_int_equal(fail_each_append(rig_running), 3);
}

/* What the next daemon reads of why pair0 is quarantined. */
static void expect_stored_quarantine(Rig *rig, const char *reason)
{
	_cleanup_(claims_freep) Claims *next = claims_new();
	_cleanup_free_ char *why = NULL;

	quarantine_store_load(&rig->quarantine, next);
	why = claims_quarantine_reason(next, &(Bdf){ 0, 0x61, 0, 1 }, NULL);
	assert_true(why && strstr(why, reason));
}

/* fault 39 */
/*
 * It is undone, but its journal may come back: so nobody gets the group until it is gone for
 * certain.
 */
ON_A_RIG(a_job_whose_journal_cannot_be_closed_says_so)
{
	FailingIo io = { .real = rig->journal.io, .nth = 2, .removes_fail = true };

	rig_running(rig);
	rig_note_world(rig);
	make_fail(rig, &io);
	rig_try(rig, &ASSIGN);
	rig_check_noted(rig);
	assert_int_equal(rig->last.state, JOB_INCOMPLETE);
	assert_non_null(strstr(rig->last.message,
			       "; pair0 is quarantined: its journal could not be "
			       "closed: Input/output error"));
	assert_non_null(strstr(rig->last.remedy, "then: gpupass clear pair0"));
	rig->journal.io = io.real;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_QUARANTINED, "");
	/* On disk, too: the journal may be there, or not. */
	expect_stored_quarantine(rig, "");
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	assert_int_equal(rig_count_open(rig), 0);
	rig_must(rig, &ASSIGN);
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

/* Recovers it; the world is then as noted, and the claims say what it says (NULL: free). */
static void settle(Rig *rig, OpenJob *job, RecoveryOutcome outcome, const char *reason)
{
	_cleanup_(recovery_clear) Recovery recovery = { 0 };
	_cleanup_free_ char *why = NULL;

	assert_int_equal(recover_job(&rig->place, job, 0, &recovery), 0);
	assert_int_equal(recovery.outcome, outcome);
	why = rig_quarantined(rig);
	assert_int_equal(why != NULL, reason != NULL);
	if (reason)
		assert_non_null(strstr(recovery.reason, reason));
	if (outcome == RECOVERED_QUARANTINED) {
		assert_string_equal(why, recovery.reason);
		expect_stored_quarantine(rig, recovery.reason);
	}
	if (outcome != RECOVERED_WAITING)
		rig_check_noted(rig);
}

ON_A_RIG(without_libvirt_a_job_waits_and_is_undone_later)
{
	static const FakeFault down = { .op = FAKE_USES,
					.nth = 1,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	OpenJob *job;

	rig_shut_off(rig);
	rig_note_world(rig);
	job = open_job(rig, &found);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &down);
	settle(rig, job, RECOVERED_WAITING, "as soon as libvirt answers");
	settle(rig, job, RECOVERED_UNDONE, NULL);
}

/* Another guest took the functions while no daemon was there. */
ON_A_RIG(a_guest_that_runs_is_left_alone)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	OpenJob *job;

	rig_two_domains(rig);
	job = open_job(rig, &found);
	/* Defined only after the job had been planned. */
	fake_redefine(&rig->fake, "vm77", "q35-assigned");
	fake_start(&rig->fake, "vm77");
	rig_note_world(rig);
	settle(rig, job, RECOVERED_QUARANTINED, "vm77 runs with 0000:41:00.0");
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
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_strv_ char **left = NULL;

	rig_shut_off(rig);
	(void)open_job(rig, &found);
	journal_found_clear(&found);
	damage_journal(rig);
	rig_note_world(rig);
	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	assert_int_equal(found.n_jobs, 1);
	settle(rig, found.jobs[0], RECOVERED_QUARANTINED,
	       "its journal cannot be understood: line 3: its checksum");
	journal_found_clear(&found);
	/* It is there to look at, and no start takes it up again. */
	assert_int_equal(dir_list(rig->journal.dir_fd, ".damaged", &left), 0);
	assert_true(left && left[0] && !left[1]);
	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	assert_int_equal(found.n_jobs, 0);
}

static void refuses_to_lift(Rig *rig, GpupassError error, const char *words)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(quarantine_lift(&rig->place, "pair0", &problem), PROBLEM);
	assert_int_equal(problem->error, error);
	assert_non_null(strstr(problem->reason, words));
}

ON_A_RIG(clear_wants_the_worker_gone_and_every_function_to_answer)
{
	const size_t n = rig->fake.snapshot->n_functions;
	_cleanup_free_ char *why = NULL, *after = NULL;
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	OpenJob *job;

	rig_shut_off(rig);
	job = open_job(rig, &found);
	memset(rig->fake.stuck, true, n * sizeof(bool));
	rig_note_world(rig);
	settle(rig, job, RECOVERED_QUARANTINED, "worker 4711 is still at work");
	refuses_to_lift(rig, GPUPASS_ERROR_QUARANTINED, "worker 4711 still waits");
	memset(rig->fake.stuck, false, n * sizeof(bool));
	fake_all_gone(&rig->fake, true);
	refuses_to_lift(rig, GPUPASS_ERROR_QUARANTINED, "not all of its functions answer");
	why = rig_quarantined(rig);
	assert_non_null(why);
	fake_all_gone(&rig->fake, false);
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	after = rig_quarantined(rig);
	assert_null(after);
	refuses_to_lift(rig, GPUPASS_ERROR_NO_SUCH_GROUP, "no group of this name");
}
