/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job is cancelled at each of its steps, and before it begins: everything is as before. What was
 * accepted counts, and what comes too late is refused.
 */
#include "rig/test.h"

#include <pthread.h>
#include <string.h>

#include "job/cancel.h"
#include "rig/job-rig.h"
#include "util/text.h"

#define RACES 1000

static void expect_cancelled(const Rig *rig)
{
	rig_expect(rig, JOB_CANCELLED, GPUPASS_ERROR_CANCELLED, ": user 54321 cancelled the job\n");
	rig_check_noted(rig);
	rig_check_guests(rig, str_or_empty(rig->row));
	rig_check_nothing_open(rig);
}

static void cancel_at(const Scenario *scenario, size_t step)
{
	_cleanup_free_ char *what = strf("%s, cancelled at step %zu", scenario->name, step);
	_cleanup_(rig_freep) Rig *rig = rig_for(scenario);

	rig->row = what;
	rig_note_world(rig);
	rig->cancel_at = step;
	rig_try(rig, &scenario->request);
	expect_cancelled(rig);
	/* The preflight alone writes nothing, so there is nothing to undo. */
	assert_int_equal(rig->last.rolled_back, step > 1);
	assert_non_null(strstr(rig->last.message,
			       step > 1 ? "State:  everything was put back as it was; undone: "
					: "State:  nothing was changed"));
	/* Nothing is left behind that would stand in the way of another try. */
	rig->cancel_at = 0;
	rig_let_cancel(rig);
	fake_watch(&rig->fake);
	rig_must(rig, &scenario->request);
}

/* fault 62 */
TEST(whenever_it_is_cancelled_everything_is_as_before)
{
	for (size_t i = 0; i < N_SCENARIOS; i++)
		for (size_t step = 1; step <= scenarios[i].n_steps; step++)
			cancel_at(&scenarios[i], step);
}

static void cancel(Rig *rig)
{
	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), 1);
}

static void cancel_in_vain(Rig *rig)
{
	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), -EBUSY);
}

/* fault 62 */
ON_A_RIG(before_its_plan_nothing_is_asked_of_the_machine)
{
	rig_shut_off(rig);
	rig_note_world(rig);
	rig_let_cancel(rig);
	cancel(rig);
	rig_try(rig, &ASSIGN);
	expect_cancelled(rig);
	assert_non_null(strstr(rig->last.message, "State:  nothing was changed"));
	for (size_t op = 0; op < FAKE_OP_MAX_; op++)
		assert_int_equal(rig->fake.calls[op], 0);
}

/* fault 62 */
ON_A_RIG(between_look_and_first_write_no_journal_is_begun)
{
	rig_shut_off(rig);
	rig_note_world(rig);
	rig_let_cancel(rig);
	rig_at(rig, FAKE_INSPECT, 1, cancel);
	rig_try(rig, &ASSIGN);
	expect_cancelled(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	assert_int_equal(rig->fake.calls[FAKE_INSPECT], 1);
	rig_expect_steps(rig, "");
}

/* fault 62 */
TEST(between_two_functions_of_a_guest_it_stops)
{
	for (int released = 0; released <= 1; released++) {
		FakeOp op = released ? FAKE_DETACH : FAKE_ATTACH;
		FakeOp undo = released ? FAKE_ATTACH : FAKE_DETACH;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		(released ? rig_assigned_live : rig_running)(rig);
		rig_note_world(rig);
		rig_let_cancel(rig);
		rig_at(rig, op, 2, cancel);
		rig_try(rig, released ? &RELEASE : &ASSIGN);
		expect_cancelled(rig);
		/* The second of four is the last; it and the one that was next are undone, too. */
		assert_int_equal(rig->fake.calls[op], 2);
		assert_int_equal(rig->fake.calls[undo], 3);
	}
}

/* fault 62 */
ON_A_RIG(an_undo_that_fails_quarantines_and_does_not_say_cancelled)
{
	static const FakeMoveFault stays_on_vfio = { .bdf = "0000:41:00.0",
						     .driver = "nvidia",
						     .phase = DRIVER_PHASE_PROBE,
						     .error = -EIO };

	rig_shut_off(rig);
	fake_fail_move(&rig->fake, &stays_on_vfio);
	rig->cancel_at = 2;
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_ROLLBACK_FAILED, "");
	assert_non_null(strstr(rig->last.message, "user 54321 cancelled the job"));
	assert_non_null(strstr(rig->last.remedy, "gpupass clear pair0"));
}

static void on_move(FakeHost *fake, FakeOp op, unsigned nth)
{
	/* Once while it binds; then that has failed by itself, and is undone anyway. */
	if (op == FAKE_MOVE)
		(nth == 1 ? cancel : cancel_in_vain)((Rig *)fake);
}

/* fault 62 */
ON_A_RIG(a_step_that_fails_meanwhile_keeps_its_own_reason)
{
	static const FakeMoveFault fails = { .bdf = "0000:61:00.0",
					     .driver = "vfio-pci",
					     .phase = DRIVER_PHASE_PROBE,
					     .error = -EIO };

	rig_shut_off(rig);
	fake_fail_move(&rig->fake, &fails);
	rig_let_cancel(rig);
	rig->fake.hook = on_move;
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_BIND_FAILED, "everything was put back");
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 2);
}

/* fault 62 */
ON_A_RIG(what_is_undone_already_or_done_takes_no_cancel)
{
	const FakeFault fault = { .op = FAKE_DEFINE,
				  .nth = 1,
				  .problem = GPUPASS_ERROR_DEFINE_FAILED };

	rig_shut_off(rig);
	fake_fail(&rig->fake, &fault);
	rig_let_cancel(rig);
	rig_at(rig, FAKE_MOVE, 2, cancel_in_vain);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_DEFINE_FAILED, "everything was put back");
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 2);
	rig_let_cancel(rig);
	fake_watch(&rig->fake);
	rig_must(rig, &ASSIGN);
	cancel_in_vain(rig);
}

/* fault 62 */
ON_A_RIG(a_worker_that_never_comes_back_quarantines_a_cancelled_job_too)
{
	static const FakeMoveFault hangs = { .bdf = "0000:61:00.0",
					     .driver = "vfio-pci",
					     .phase = DRIVER_PHASE_UNBIND,
					     .never_returns = true };

	rig_shut_off(rig);
	fake_fail_move(&rig->fake, &hangs);
	rig->cancel_at = 2;
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_UNBIND_TIMEOUT, "worker 4711");
}

/* fault 62 */
ON_A_RIG(libvirt_that_goes_while_it_is_undone_leaves_the_job_open)
{
	/* The first is the definition's own. */
	const FakeFault gone = { .op = FAKE_GET,
				 .nth = 2,
				 .from_then_on = true,
				 .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };

	rig_shut_off(rig);
	/* Cancelled at verify: the definition must be put back. */
	rig->cancel_at = 3;
	rig_plan(rig, &ASSIGN);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &gone);
	rig_go(rig);
	rig_expect(rig, JOB_INCOMPLETE, GPUPASS_ERROR_ROLLBACK_FAILED,
		   "recovered as soon as libvirt answers");
	assert_int_equal(rig_count_open(rig), 1);
}

/* ---- who asks, and who closes ---- */

TEST(the_first_who_asks_stays_on_record)
{
	_cleanup_(cancellation_unrefp) Cancellation *c = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL, *again = NULL;

	cancellation_new(&c);
	assert_int_equal(cancellation_check(NULL, &problem), 0);
	assert_int_equal(cancellation_close(NULL, &problem), 0);
	assert_int_equal(cancellation_check(c, &problem), 0);
	assert_int_equal(cancellation_ask(c, 0), 1);
	assert_int_equal(cancellation_ask(c, 7), 0);
	assert_int_equal(cancellation_check(c, &problem), PROBLEM);
	assert_string_equal(problem->reason, "root cancelled the job");
	/* What was asked for is not closed away. */
	assert_int_equal(cancellation_close(c, &again), PROBLEM);
	assert_int_equal(cancellation_ask(c, 7), 0);
}

/* A uid can be any number but -1, which is no user's. */
TEST(no_uid_is_taken_for_nobody)
{
	_cleanup_(cancellation_unrefp) Cancellation *c = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;

	cancellation_new(&c);
	assert_int_equal(cancellation_ask(c, UINT32_MAX - 1), 1);
	assert_int_equal(cancellation_check(c, &problem), PROBLEM);
	assert_string_equal(problem->reason, "user 4294967294 cancelled the job");
}

typedef struct Asker {
	Cancellation *cancellation;
	int answer;
} Asker;

static void *ask(void *userdata)
{
	Asker *asker = userdata;

	asker->answer = cancellation_ask(asker->cancellation, 1);
	return NULL;
}

TEST(what_was_accepted_counts_whenever_it_came)
{
	unsigned accepted = 0;

	for (unsigned i = 0; i < RACES; i++) {
		_cleanup_(cancellation_unrefp) Cancellation *c = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		Asker asker;
		pthread_t thread;
		int closed;

		cancellation_new(&c);
		asker = (Asker){ .cancellation = c };
		assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
		/* Now and then the other one is first. */
		for (volatile unsigned wait = 0; wait < i * 200; wait++)
			continue;
		closed = cancellation_close(c, &problem);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(asker.answer, closed == PROBLEM ? 1 : -EBUSY);
		accepted += closed == PROBLEM;
	}
	print_message("%u of %u accepted\n", accepted, RACES);
}
