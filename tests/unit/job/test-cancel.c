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
#include "util/file.h"
#include "util/text.h"

#define RACES 1000

static void with_persistence_mode(Rig *rig)
{
	rig_shut_off(rig);
	fake_set_persistence_mode(&rig->fake, "0000:61:00.0", true);
}

static void assigned_with_persistence_mode(Rig *rig)
{
	const JobRequest request = RIG_ASSIGN;

	with_persistence_mode(rig);
	rig_must(rig, &request);
}

typedef struct Scenario {
	const char *name;
	void (*setup)(Rig *rig);
	JobRequest request;
	size_t n_steps;
} Scenario;

static const Scenario scenarios[] = {
	{ "assign cold", rig_shut_off, RIG_ASSIGN, 5 },
	{ "assign live", rig_running, RIG_ASSIGN, 6 },
	{ "assign what is bound", rig_shut_off_bound, RIG_ASSIGN, 4 },
	{ "assign what drifted", rig_drifted, RIG_ASSIGN, 4 },
	{ "assign with persistence mode", with_persistence_mode, RIG_ASSIGN, 6 },
	{ "release cold", rig_assigned, RIG_RELEASE, 6 },
	{ "release live", rig_assigned_live, RIG_RELEASE, 7 },
	{ "release to persistence mode", assigned_with_persistence_mode, RIG_RELEASE, 7 },
	{ "bind", rig_shut_off, RIG_BIND, 3 },
	{ "unbind", rig_shut_off_bound, RIG_UNBIND, 3 },
	{ "bind that lasts",
	  rig_shut_off,
	  { .operation = OPERATION_BIND, .group = (char *)"pair0", .persist = true },
	  4 },
	{ "release of a kept group", rig_kept_and_assigned, RIG_RELEASE, 5 },
};

static void expect_cancelled(const Outcome *outcome, const char *what)
{
	if (outcome->state != JOB_CANCELLED || outcome->error != GPUPASS_ERROR_CANCELLED ||
	    !strstr(outcome->message, ": user 54321 cancelled the job\n"))
		fail_msg("%s: %s: %s", what, job_state_to_string(outcome->state),
			 str_or_empty(outcome->message));
}

/* The journal is gone, and nothing is quarantined. */
static void expect_nothing_open(const Rig *rig, const char *what)
{
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(rig->quarantine.dir_fd, ".json", &names), 0);
	if (names)
		fail_msg("%s: %s is left", what, names[0]);
	if (rig_count_open(rig) > 0)
		fail_msg("%s: its journal is open", what);
}

static size_t count_steps(const Scenario *scenario)
{
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	Rig *rig = rig_new();
	Outcome outcome;
	size_t n;

	scenario->setup(rig);
	outcome = rig_prepare(rig, &scenario->request, &prepared, &prefix);
	assert_int_equal(outcome.state, JOB_RUNNING);
	n = prepared->plan->n_steps;
	rig_free(rig);
	return n;
}

static void cancel_at(const Scenario *scenario, size_t step)
{
	_cleanup_free_ char *before = NULL;
	_cleanup_free_ char *what = strf("%s, cancelled at step %zu", scenario->name, step);
	_cleanup_(rig_freep) Rig *rig = rig_new();
	Outcome outcome;

	scenario->setup(rig);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	rig->cancel_at = step;
	outcome = rig_run(rig, &scenario->request);
	expect_cancelled(&outcome, what);
	rig_check_world(rig, before, what);
	rig_check_guests(rig, what);
	expect_nothing_open(rig, what);
	/* The preflight alone writes nothing, so there is nothing to undo. */
	assert_int_equal(outcome.rolled_back, step > 1);
	assert_non_null(strstr(outcome.message,
			       step > 1 ? "State:  everything was put back as it was; undone: "
					: "State:  nothing was changed"));
	outcome_clear(&outcome);
	/* Nothing is left behind that would stand in the way of another try. */
	rig->cancel_at = 0;
	rig->place.cancel = cancellation_unref(rig->place.cancel);
	fake_watch(&rig->fake);
	rig_must(rig, &scenario->request);
}

/* fault 62 */
TEST(whenever_it_is_cancelled_everything_is_as_before)
{
	for (size_t i = 0; i < ELEMENTS(scenarios); i++) {
		if (count_steps(&scenarios[i]) != scenarios[i].n_steps)
			fail_msg("%s: %zu steps", scenarios[i].name, count_steps(&scenarios[i]));
		for (size_t step = 1; step <= scenarios[i].n_steps; step++)
			cancel_at(&scenarios[i], step);
	}
}

/* fault 62 */
ON_A_RIG(before_its_plan_nothing_is_asked_of_the_machine)
{
	const JobRequest request = RIG_ASSIGN;
	_cleanup_free_ char *before = NULL;
	_cleanup_(outcome_clear) Outcome outcome;

	rig_shut_off(rig);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	cancellation_new(&rig->place.cancel);
	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), 1);
	outcome = rig_run(rig, &request);
	expect_cancelled(&outcome, "at once");
	assert_non_null(strstr(outcome.message, "State:  nothing was changed"));
	for (size_t op = 0; op < FAKE_OP_MAX_; op++)
		assert_int_equal(rig->fake.calls[op], 0);
	rig_check_world(rig, before, "at once");
	expect_nothing_open(rig, "at once");
}

static void cancel_from_hook(FakeHost *fake)
{
	const Rig *rig = (const Rig *)fake;

	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), 1);
}

static void on_inspect(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_INSPECT && nth == 1)
		cancel_from_hook(fake);
}

/* fault 62 */
ON_A_RIG(between_look_and_first_write_no_journal_is_begun)
{
	const JobRequest request = RIG_ASSIGN;
	_cleanup_(outcome_clear) Outcome outcome;

	rig_shut_off(rig);
	fake_watch(&rig->fake);
	cancellation_new(&rig->place.cancel);
	rig->fake.hook = on_inspect;
	outcome = rig_run(rig, &request);
	expect_cancelled(&outcome, "after the look");
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	assert_int_equal(rig->fake.calls[FAKE_INSPECT], 1);
	assert_null(outcome.steps);
	expect_nothing_open(rig, "after the look");
}

static void on_second_attach(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_ATTACH && nth == 2)
		cancel_from_hook(fake);
}

static void on_second_detach(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_DETACH && nth == 2)
		cancel_from_hook(fake);
}

static void cancel_within(void (*setup)(Rig *rig), const JobRequest *request,
			  void (*hook)(FakeHost *fake, FakeOp op, unsigned nth), FakeOp op,
			  FakeOp undo)
{
	_cleanup_free_ char *before = NULL;
	_cleanup_(rig_freep) Rig *rig = rig_new();
	Outcome outcome;

	setup(rig);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	cancellation_new(&rig->place.cancel);
	rig->fake.hook = hook;
	outcome = rig_run(rig, request);
	expect_cancelled(&outcome, fake_op_to_string(op));
	/* The second of four is the last; it and the one that was next are undone, too. */
	assert_int_equal(rig->fake.calls[op], 2);
	assert_int_equal(rig->fake.calls[undo], 3);
	rig_check_world(rig, before, fake_op_to_string(op));
	rig_check_guests(rig, fake_op_to_string(op));
	outcome_clear(&outcome);
}

/* fault 62 */
TEST(between_two_functions_of_a_guest_it_stops)
{
	const JobRequest assign = RIG_ASSIGN, release = RIG_RELEASE;

	cancel_within(rig_running, &assign, on_second_attach, FAKE_ATTACH, FAKE_DETACH);
	cancel_within(rig_assigned_live, &release, on_second_detach, FAKE_DETACH, FAKE_ATTACH);
}

/* fault 62 */
ON_A_RIG(an_undo_that_fails_quarantines_and_does_not_say_cancelled)
{
	static const FakeMoveFault stays_on_vfio = { .bdf = "0000:41:00.0",
						     .driver = "nvidia",
						     .phase = DRIVER_PHASE_PROBE,
						     .error = -EIO };
	const JobRequest request = RIG_ASSIGN;
	_cleanup_(outcome_clear) Outcome outcome;

	rig_shut_off(rig);
	fake_watch(&rig->fake);
	fake_fail_move(&rig->fake, &stays_on_vfio);
	rig->cancel_at = 2;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_int_equal(outcome.error, GPUPASS_ERROR_ROLLBACK_FAILED);
	assert_non_null(strstr(outcome.message, "user 54321 cancelled the job"));
	assert_non_null(strstr(outcome.message, "State:  pair0 is quarantined: "));
	assert_non_null(strstr(outcome.message, "gpupass clear pair0"));
}

static void on_move(FakeHost *fake, FakeOp op, unsigned nth)
{
	const Rig *rig = (const Rig *)fake;

	if (op != FAKE_MOVE)
		return;
	/* Once while it binds; then that has failed by itself, and is undone anyway. */
	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), nth == 1 ? 1 : -EBUSY);
}

/* fault 62 */
ON_A_RIG(a_step_that_fails_meanwhile_keeps_its_own_reason)
{
	static const FakeMoveFault fails = { .bdf = "0000:61:00.0",
					     .driver = "vfio-pci",
					     .phase = DRIVER_PHASE_PROBE,
					     .error = -EIO };
	const JobRequest request = RIG_ASSIGN;
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	rig_shut_off(rig);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	fake_fail_move(&rig->fake, &fails);
	cancellation_new(&rig->place.cancel);
	rig->fake.hook = on_move;
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_BIND_FAILED, "everything was put back");
	rig_check_world(rig, before, "failed while it was cancelled");
}

static void on_undo(FakeHost *fake, FakeOp op, unsigned nth)
{
	const Rig *rig = (const Rig *)fake;

	if (op == FAKE_MOVE && nth == 2)
		assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), -EBUSY);
}

/* fault 62 */
ON_A_RIG(what_is_undone_already_or_done_takes_no_cancel)
{
	const FakeFault fault = { .op = FAKE_DEFINE,
				  .nth = 1,
				  .problem = GPUPASS_ERROR_DEFINE_FAILED };
	const JobRequest request = RIG_ASSIGN;
	Outcome outcome;

	rig_shut_off(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &fault);
	cancellation_new(&rig->place.cancel);
	rig->fake.hook = on_undo;
	outcome = rig_run(rig, &request);
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 2);
	rig_expect_failure(&outcome, GPUPASS_ERROR_DEFINE_FAILED, "everything was put back");
	rig->place.cancel = cancellation_unref(rig->place.cancel);
	cancellation_new(&rig->place.cancel);
	fake_watch(&rig->fake);
	rig_must(rig, &request);
	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), -EBUSY);
}

/* fault 62 */
ON_A_RIG(a_worker_that_never_comes_back_quarantines_a_cancelled_job_too)
{
	static const FakeMoveFault hangs = { .bdf = "0000:61:00.0",
					     .driver = "vfio-pci",
					     .phase = DRIVER_PHASE_UNBIND,
					     .never_returns = true };
	const JobRequest request = RIG_ASSIGN;
	_cleanup_(outcome_clear) Outcome outcome;

	rig_shut_off(rig);
	fake_watch(&rig->fake);
	fake_fail_move(&rig->fake, &hangs);
	rig->cancel_at = 2;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_int_equal(outcome.error, GPUPASS_ERROR_UNBIND_TIMEOUT);
}

/* fault 62 */
ON_A_RIG(libvirt_that_goes_while_it_is_undone_leaves_the_job_open)
{
	const FakeFault gone = { .op = FAKE_GET,
				 .nth = 1,
				 .from_then_on = true,
				 .problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	const JobRequest request = RIG_ASSIGN;
	_cleanup_free_ char *prefix = NULL;
	_cleanup_(outcome_clear) Outcome outcome;

	rig_shut_off(rig);
	/* Cancelled at verify: the definition must be put back. */
	rig->cancel_at = 3;
	outcome = rig_prepare(rig, &request, &prepared, &prefix);
	assert_int_equal(outcome.state, JOB_RUNNING);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &gone);
	rig->fake.faults[0].nth = 2; /* the first is the definition's own */
	outcome = rig_execute(rig, prepared, prefix);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_int_equal(outcome.error, GPUPASS_ERROR_ROLLBACK_FAILED);
	assert_non_null(strstr(outcome.message, "recovered as soon as libvirt answers"));
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
