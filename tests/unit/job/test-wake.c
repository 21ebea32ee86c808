/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A GPU sleeps in D3cold, and does not wake up, or whoever wakes it waits for ever: refused, put
 * back or quarantined. Nobody gets it, nothing is called done, and the other group goes on.
 */
#include "rig/test.h"

#include <string.h>

#include "job/clear.h"
#include "rig/job-rig.h"
#include "util/text.h"

#define ASLEEP "0000:61:00.0"

typedef struct Row {
	const char *what;
	void (*arrange)(Rig *rig);
	JobRequest request;
} Row;

static const Row assign_cold = { "assign, shut off", rig_shut_off, ASSIGN };
static const Row assign_live = { "assign, running", rig_running, ASSIGN };
static const Row bind_row = { "bind", rig_shut_off, BIND };
static const Row unbind_row = { "unbind", rig_shut_off_bound, UNBIND };
static const Row *const wakers[] = { &assign_cold, &assign_live, &bind_row, &unbind_row };

static Rig *rig_with(const Row *row)
{
	Rig *rig = rig_new();

	rig->row = row->what;
	row->arrange(rig);
	return rig;
}

static void the_other_group_goes_on(Rig *rig)
{
	rig_check_guests(rig, str_or_empty(rig->row));
	fake_watch(&rig->fake);
	rig_must(rig, &bind_request("pair1"));
	rig_must(rig, &group_request(OPERATION_UNBIND, "pair1"));
}

/* faults 24, 25 */
TEST(what_does_not_wake_up_is_refused_before_anything_is_written)
{
	for (size_t i = 0; i < ELEMENTS(wakers); i++)
		for (FakeWake wake = FAKE_WAKE_FAILS; wake <= FAKE_WAKE_HANGS; wake++) {
			_cleanup_(rig_freep) Rig *rig = rig_with(wakers[i]);
			bool fails = wake == FAKE_WAKE_FAILS;

			fake_sleep(&rig->fake, ASLEEP, wake);
			rig_fails(rig, &wakers[i]->request,
				  fails ? GPUPASS_ERROR_BIND_FAILED : GPUPASS_ERROR_PART_FAILED,
				  fails ? ASLEEP " does not answer" : "could not be looked at");
			assert_false(str_is_empty(rig->last.remedy));
			assert_int_equal(fake_write_calls(&rig->fake), 0);
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
	for (size_t i = 0; i < ELEMENTS(wakers); i++)
		for (FakeWake wake = FAKE_WAKES; wake <= FAKE_WAKE_HANGS; wake++) {
			_cleanup_(rig_freep) Rig *rig = rig_with(wakers[i]);
			JobRequest request = wakers[i]->request;
			const Plan *plan;

			request.plan.wakes_nothing = true;
			fake_sleep(&rig->fake, ASLEEP, wake);
			plan = rig_plan(rig, &request);
			assert_int_equal(rig->fake.calls[FAKE_PERSISTENCE], 0);
			assert_int_equal(warns(plan, "were not checked for an answer, "
						     "because that wakes them: " ASLEEP "; root's"),
					 wake != FAKE_WAKES);
			assert_int_equal(warns(plan, "the persistence mode of 0000:41:00.0, " ASLEEP
						     " was not read,"),
					 wakers[i] != &unbind_row);
		}
}

/* fault 25 */
/* Its reset would be the first to wake it. The record keeps everybody else away. */
TEST(what_does_not_wake_up_is_not_released)
{
	static const struct {
		Row row;
		FakeWake wake;
		JobState state;
		const char *words;
		GpupassError next; /* for whom comes then */
	} rows[] = {
		{ { "release, shut off", rig_assigned, RELEASE },
		  FAKE_WAKE_FAILS,
		  JOB_FAILED,
		  ASLEEP,
		  GPUPASS_ERROR_GROUP_BUSY },
		/* The guest has let go of it, and cannot have it back. */
		{ { "release, running", rig_assigned_live, RELEASE },
		  FAKE_WAKE_FAILS,
		  JOB_INCOMPLETE,
		  "",
		  GPUPASS_ERROR_QUARANTINED },
		{ { "release, shut off, that waits for it", rig_assigned, RELEASE },
		  FAKE_WAKE_HANGS,
		  JOB_INCOMPLETE,
		  "waits in the kernel to reset " ASLEEP,
		  GPUPASS_ERROR_QUARANTINED },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		bool failed = rows[i].state == JOB_FAILED;
		_cleanup_(rig_freep) Rig *rig = rig_with(&rows[i].row);

		fake_add_domain(&rig->fake, "vm43", "q35", NULL);
		rig_note_world(rig);
		fake_sleep(&rig->fake, ASLEEP, rows[i].wake);
		rig_try(rig, &RELEASE);
		rig_expect(rig, rows[i].state,
			   failed ? GPUPASS_ERROR_RESET_FAILED : GPUPASS_ERROR_ROLLBACK_FAILED,
			   rows[i].words);
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
		if (failed)
			rig_check_noted(rig);
		rig_fails(rig, &assign_request("vm43", "pair0"), rows[i].next,
			  failed ? "vm42" : "");
		the_other_group_goes_on(rig);
	}
}

/* ---- after it was looked at ---- */

static FakeWake then;

static void fall_asleep(Rig *rig)
{
	fake_sleep(&rig->fake, ASLEEP, then);
}

static void check_repaired(Rig *rig)
{
	fake_sleep(&rig->fake, ASLEEP, FAKE_WAKES);
	memset(rig->fake.stuck, 0, rig->fake.snapshot->n_functions * sizeof(bool));
	assert_int_equal(quarantine_lift(&rig->place, "pair0", NULL), 0);
	fake_watch(&rig->fake);
	rig_must(rig, &ASSIGN);
	rig_check_guests(rig, "repaired");
}

/* fault 25 */
TEST(what_stops_waking_up_midway_is_never_called_done)
{
#define NO_ANSWER ASLEEP " does not answer since it was moved"
	const struct {
		const Row *row;
		FakeOp at;
		FakeWake wake;
		GpupassError error;
		const char *words;
	} rows[] = {
		{ &assign_cold, FAKE_MOVE, FAKE_WAKE_FAILS, GPUPASS_ERROR_ROLLBACK_FAILED,
		  NO_ANSWER },
		{ &assign_cold, FAKE_MOVE, FAKE_WAKE_HANGS, GPUPASS_ERROR_UNBIND_TIMEOUT, ASLEEP },
		{ &assign_live, FAKE_MOVE, FAKE_WAKE_FAILS, GPUPASS_ERROR_ROLLBACK_FAILED,
		  NO_ANSWER },
		{ &assign_live, FAKE_ATTACH, FAKE_WAKE_FAILS, GPUPASS_ERROR_ROLLBACK_FAILED,
		  "libvirt refuses " ASLEEP },
		{ &bind_row, FAKE_MOVE, FAKE_WAKE_FAILS, GPUPASS_ERROR_ROLLBACK_FAILED, NO_ANSWER },
		{ &bind_row, FAKE_MOVE, FAKE_WAKE_HANGS, GPUPASS_ERROR_UNBIND_TIMEOUT, ASLEEP },
		{ &unbind_row, FAKE_MOVE, FAKE_WAKE_FAILS, GPUPASS_ERROR_ROLLBACK_FAILED,
		  ASLEEP " could not be moved to nvidia" },
		{ &unbind_row, FAKE_MOVE, FAKE_WAKE_HANGS, GPUPASS_ERROR_UNBIND_TIMEOUT, ASLEEP },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_with(rows[i].row);

		then = rows[i].wake;
		rig_at(rig, rows[i].at, 1, fall_asleep);
		rig_sticks(rig, &rows[i].row->request, rows[i].error, "");
		rig_expect(rig, JOB_INCOMPLETE, rows[i].error, rows[i].words);
		rig_fails(rig, &ASSIGN, GPUPASS_ERROR_QUARANTINED, "");
		the_other_group_goes_on(rig);
		check_repaired(rig);
	}
}
