/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A GPU sleeps in D3cold, and does not wake up, or whoever wakes it waits for ever: refused, put
 * back or quarantined. Nobody gets it, nothing is called done, and the other group goes on.
 */
#include "rig/test.h"

#include <string.h>

#include "job/clear.h"
#include "job/prepare.h"
#include "job/recover.h"
#include "rig/job-rig.h"
#include "util/text.h"

#define ASLEEP "0000:61:00.0"

static void bound(Rig *rig)
{
	JobRequest request = bind_request("pair0");

	rig_shut_off(rig);
	rig_must(rig, &request);
}

typedef struct Row {
	const char *what;
	void (*setup)(Rig *rig);
	JobRequest request;
} Row;

static const Row assign_cold = { "assign, shut off", rig_shut_off, RIG_ASSIGN };
static const Row assign_live = { "assign, running", rig_running, RIG_ASSIGN };
static const Row bind_row = { "bind", rig_shut_off, RIG_BIND };
static const Row unbind_row = { "unbind", bound, RIG_UNBIND };
static const Row release_cold = { "release, shut off", rig_assigned, RIG_RELEASE };
static const Row release_live = { "release, running", rig_assigned_live, RIG_RELEASE };

static Rig *rig_for(const Row *row)
{
	Rig *rig = rig_new();

	row->setup(rig);
	fake_watch(&rig->fake);
	return rig;
}

static void the_other_group_goes_on(Rig *rig)
{
	JobRequest bind = bind_request("pair1"), unbind = unbind_request("pair1");

	fake_watch(&rig->fake);
	rig_must(rig, &bind);
	rig_must(rig, &unbind);
}

/* faults 24, 25 */
TEST(what_does_not_wake_up_is_refused_before_anything_is_written)
{
	static const Row *const rows[] = { &assign_cold, &assign_live, &bind_row, &unbind_row };

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (FakeWake wake = FAKE_WAKE_FAILS; wake <= FAKE_WAKE_HANGS; wake++) {
			_cleanup_(rig_freep) Rig *rig = rig_for(rows[i]);
			_cleanup_free_ char *before = rig_world(rig);
			Outcome outcome;

			fake_sleep(&rig->fake, ASLEEP, wake);
			outcome = rig_run(rig, &rows[i]->request);
			assert_false(str_is_empty(outcome.remedy));
			rig_expect_failure(&outcome,
					   wake == FAKE_WAKE_FAILS ? GPUPASS_ERROR_BIND_FAILED
								   : GPUPASS_ERROR_PART_FAILED,
					   wake == FAKE_WAKE_FAILS ? ASLEEP " does not answer"
								   : "could not be looked at");
			assert_int_equal(fake_write_calls(&rig->fake), 0);
			rig_check_world(rig, before, rows[i]->what);
			the_other_group_goes_on(rig);
		}
}

static bool warns(const Plan *plan, const char *what)
{
	for (char *const *w = plan->warnings; w && *w; w++)
		if (strstr(*w, what))
			return true;
	return false;
}

/* One who may only read wakes no GPU and asks no NVML, and his plan says no more than was seen. */
TEST(a_plan_for_who_may_only_read_wakes_nothing_and_says_so)
{
	static const Row *const rows[] = { &assign_cold, &assign_live, &bind_row, &unbind_row };

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		for (FakeWake wake = FAKE_WAKES; wake <= FAKE_WAKE_HANGS; wake++) {
			_cleanup_(prepared_freep) Prepared *prepared = NULL;
			_cleanup_(problem_freep) Problem *problem = NULL;
			_cleanup_free_ char *prefix = NULL;
			JobRequest request = rows[i]->request;
			_cleanup_(rig_freep) Rig *rig = rig_for(rows[i]);

			request.wakes_nothing = true;
			fake_sleep(&rig->fake, ASLEEP, wake);
			fake_watch(&rig->fake);
			assert_int_equal(
				prepare(&rig->place, &request, 0, &prepared, &problem, &prefix), 0);
			assert_int_equal(rig->fake.calls[FAKE_PERSISTENCE], 0);
			assert_int_equal(warns(prepared->plan,
					       "were not checked for an answer, "
					       "because that wakes them: " ASLEEP "; root's"),
					 wake != FAKE_WAKES);
			assert_int_equal(warns(prepared->plan,
					       "the persistence mode of 0000:41:00.0, " ASLEEP
					       " was not read,"),
					 rows[i] != &unbind_row);
		}
}

/* fault 25 */
/* Its reset would be the first to wake it. The record keeps everybody else away. */
TEST(what_does_not_wake_up_is_not_released)
{
	static const Row *const rows[] = { &release_cold, &release_live };
	JobRequest next = assign_request("vm43", "pair0");

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_for(rows[i]);
		_cleanup_free_ char *before = NULL;
		Outcome outcome;

		fake_add_domain(&rig->fake, "vm43", "q35", NULL);
		before = rig_world(rig);
		fake_sleep(&rig->fake, ASLEEP, FAKE_WAKE_FAILS);
		outcome = rig_run(rig, &rows[i]->request);
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
		if (i == 0) {
			rig_expect_failure(&outcome, GPUPASS_ERROR_RESET_FAILED, ASLEEP);
			rig_check_world(rig, before, rows[i]->what);
			outcome = rig_run(rig, &next);
			rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "vm42");
		} else {
			/* The guest has let go of it, and cannot have it back. */
			assert_int_equal(outcome.state, JOB_INCOMPLETE);
			outcome_clear(&outcome);
			outcome = rig_run(rig, &next);
			rig_expect_failure(&outcome, GPUPASS_ERROR_QUARANTINED, "");
		}
		rig_check_guests(rig, rows[i]->what);
		the_other_group_goes_on(rig);
	}
}

/* fault 25 */
TEST(a_reset_that_waits_for_it_quarantines)
{
	_cleanup_(rig_freep) Rig *rig = rig_for(&release_cold);
	Outcome outcome;

	fake_sleep(&rig->fake, ASLEEP, FAKE_WAKE_HANGS);
	outcome = rig_run(rig, &release_cold.request);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	assert_non_null(strstr(outcome.message, "waits in the kernel to reset " ASLEEP));
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	rig_check_guests(rig, "reset");
	outcome_clear(&outcome);
	the_other_group_goes_on(rig);
}

/* ---- after it was looked at ---- */

static FakeOp falls_asleep_at;
static FakeWake then;

static void on_call(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == falls_asleep_at && nth == 1)
		fake_sleep(fake, ASLEEP, then);
}

static void check_repaired(Rig *rig)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	fake_sleep(&rig->fake, ASLEEP, FAKE_WAKES);
	memset(rig->fake.stuck, 0, rig->fake.snapshot->n_functions * sizeof(bool));
	assert_int_equal(quarantine_lift(&rig->place, "pair0", &problem), 0);
	fake_watch(&rig->fake);
	rig_must(rig, &assign_cold.request);
	rig_check_guests(rig, "repaired");
}

/* fault 25 */
TEST(what_stops_waking_up_midway_is_never_called_done)
{
	const struct {
		const Row *row;
		FakeOp at;
		FakeWake wake;
		JobState state;
		GpupassError error;
		const char *words;
	} rows[] = {
		{ &assign_cold, FAKE_MOVE, FAKE_WAKE_FAILS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_ROLLBACK_FAILED, ASLEEP " does not answer since it was moved" },
		{ &assign_cold, FAKE_MOVE, FAKE_WAKE_HANGS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_UNBIND_TIMEOUT, ASLEEP },
		{ &assign_live, FAKE_MOVE, FAKE_WAKE_FAILS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_ROLLBACK_FAILED, ASLEEP " does not answer since it was moved" },
		{ &assign_live, FAKE_ATTACH, FAKE_WAKE_FAILS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_ROLLBACK_FAILED, "libvirt refuses " ASLEEP },
		{ &bind_row, FAKE_MOVE, FAKE_WAKE_FAILS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_ROLLBACK_FAILED, ASLEEP " does not answer since it was moved" },
		{ &bind_row, FAKE_MOVE, FAKE_WAKE_HANGS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_UNBIND_TIMEOUT, ASLEEP },
		{ &unbind_row, FAKE_MOVE, FAKE_WAKE_FAILS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_ROLLBACK_FAILED, ASLEEP " could not be moved to nvidia" },
		{ &unbind_row, FAKE_MOVE, FAKE_WAKE_HANGS, JOB_INCOMPLETE,
		  GPUPASS_ERROR_UNBIND_TIMEOUT, ASLEEP },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_for(rows[i].row);
		Outcome outcome;

		falls_asleep_at = rows[i].at;
		then = rows[i].wake;
		rig->fake.hook = on_call;
		outcome = rig_run(rig, &rows[i].row->request);
		if (outcome.state != rows[i].state || outcome.error != rows[i].error ||
		    !strstr(outcome.message, rows[i].words))
			fail_msg("row %zu: %s, %s", i, job_state_to_string(outcome.state),
				 str_or_empty(outcome.message));
		rig_check_guests(rig, rows[i].row->what);
		outcome_clear(&outcome);
		outcome = rig_run(rig, &assign_cold.request);
		rig_expect_failure(&outcome, GPUPASS_ERROR_QUARANTINED, "");
		the_other_group_goes_on(rig);
		check_repaired(rig);
	}
}
