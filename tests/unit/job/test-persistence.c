/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Persistence mode through whole jobs: it comes back, or somebody is told that it did not. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define LOST "GPU is lost (NVML error 15)"
#define NOT_ON_AGAIN                                                                               \
	"persistence mode of " A " was on, and is not known to be on again (" A ": " LOST          \
	"); see whether nvidia-smi works, then: nvidia-smi -i " A " -pm 1"

static void shut_off(Rig *rig, bool a, bool b)
{
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	fake_set_persistence_mode(&rig->fake, A, a);
	fake_set_persistence_mode(&rig->fake, B, b);
}

static bool has_mode(const Rig *rig, const char *bdf)
{
	_cleanup_free_ char *world = rig_world(rig);
	_cleanup_free_ char *line =
		strf("function %s driver nvidia override  persistence on\n", bdf);

	return strstr(world, line);
}

/* The lines of the log that tell of the mode and of moves of A, in order. */
static void check_log(const Rig *rig, const char *expected)
{
	_cleanup_strv_ char **lines = NULL;
	_cleanup_free_ char *joined = NULL;

	for (char *const *line = rig->fake.log; line && *line; line++)
		if (strstr(*line, A) && !str_starts_with(*line, "reset"))
			strv_append(&lines, *line);
	joined = strv_join(lines, "; ");
	assert_string_equal(joined, expected);
}

#define OFF_THEN_VFIO "persistence off of " A "; move " A " to vfio-pci, override vfio-pci"
#define NVIDIA_THEN_ON "move " A " to nvidia, override none; persistence on of " A

/* fault P1 */
ON_A_RIG(a_release_leads_back_to_the_mode_before)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	_cleanup_free_ char *before = NULL;

	shut_off(rig, true, false);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	rig_must(rig, &assign);
	check_log(rig, OFF_THEN_VFIO);
	assert_false(has_mode(rig, A));
	fake_watch(&rig->fake);
	rig_must(rig, &release);
	check_log(rig, NVIDIA_THEN_ON);
	rig_check_world(rig, before, "released");
}

ON_A_RIG(without_the_mode_nvml_is_asked_once_and_sets_nothing)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");

	shut_off(rig, false, false);
	fake_watch(&rig->fake);
	rig_must(rig, &assign);
	assert_int_equal(rig->fake.calls[FAKE_PERSISTENCE], 1);
	/* Off nvidia there is nobody to ask. */
	rig_must(rig, &assign);
	rig_must(rig, &release);
	assert_int_equal(rig->fake.calls[FAKE_PERSISTENCE], 1);
	assert_int_equal(rig->fake.calls[FAKE_SET_PERSISTENCE], 0);
}

/* What a job asks starts with it; without a question about the mode, nothing for that does. */
ON_A_RIG(a_job_says_what_it_asks_as_it_begins)
{
	JobRequest bind = bind_request("pair0"), unbind = unbind_request("pair0");

	rig_must(rig, &bind);
	assert_int_equal(rig->fake.expected_persistence, 1);
	rig_must(rig, &unbind);
	assert_int_equal(rig->fake.expected_persistence, 1);
	assert_int_equal(rig->fake.expected_work, 2);
}

/* fault P1 */
/* Whichever step fails, before or after it took effect: the mode is as it was. */
TEST(a_job_that_fails_leaves_the_mode_as_it_was)
{
	static const FakeOp ops[] = { FAKE_MOVE, FAKE_DEFINE, FAKE_INSPECT };
	JobRequest request = assign_request("vm42", "pair0");

	for (size_t i = 0; i < ELEMENTS(ops) * 6; i++) {
		FakeFault fault = {
			.op = ops[i / 6],
			/* The first inspection may fail: it is the inventory's. */
			.nth = (unsigned)(i / 2 % 3 + (ops[i / 6] == FAKE_INSPECT ? 2 : 1)),
			.late = i % 2 != 0,
			.error = ops[i / 6] == FAKE_DEFINE ? 0 : -EIO,
			.problem = GPUPASS_ERROR_DEFINE_FAILED,
		};
		_cleanup_free_ char *before = NULL, *what = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		shut_off(rig, true, true);
		before = rig_world(rig);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &fault);
		outcome = rig_run(rig, &request);
		what = strf("%s %u%s", fake_op_to_string(fault.op), fault.nth,
			    fault.late ? " late" : "");
		if (outcome.state == JOB_FAILED) {
			rig_check_world(rig, before, what);
			assert_null(outcome.left);
		} else if (outcome.state != JOB_DONE || rig->fake.calls[fault.op] >= fault.nth) {
			fail_msg("%s: %s", what, job_state_to_string(outcome.state));
		}
		outcome_clear(&outcome);
	}
}

/* Also behind the step that turned it on again. */
TEST(a_release_that_fails_leaves_the_mode_off)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	bool done = false, taken_back = false;

	for (unsigned nth = 2; !done; nth++) {
		FakeFault fault = { .op = FAKE_INSPECT, .nth = nth, .error = -EIO };
		_cleanup_free_ char *before = NULL, *what = strf("inspection %u fails", nth);
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		shut_off(rig, true, true);
		rig_must(rig, &assign);
		before = rig_world(rig);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &fault);
		outcome = rig_run(rig, &release);
		done = outcome.state == JOB_DONE;
		if (!done)
			rig_check_world(rig, before, what);
		taken_back |= strv_contains(outcome.steps, "persistence on: undone");
		outcome_clear(&outcome);
	}
	assert_true(taken_back);
}

/* faults P4, P5 */
TEST(a_mode_that_cannot_be_turned_off_keeps_the_gpu_where_it_is)
{
	static const struct {
		FakeNvmlFault fault;
		const char *words;
		bool left; /* a worker is still there, so that nobody knows */
	} rows[] = {
		{ { .bdf = B, .turns_off = true, .why = LOST }, B ": " LOST, false },
		{ { .bdf = B,
		    .turns_off = true,
		    .turns_on = true,
		    .why = "worker 4712 still waits for it",
		    .never_returns = true },
		  B ": worker 4712 still waits for it",
		  true },
	};
	JobRequest request = assign_request("vm42", "pair0");

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		shut_off(rig, true, true);
		before = rig_world(rig);
		fake_watch(&rig->fake);
		rig->fake.nvml_fault = rows[i].fault;
		outcome = rig_run(rig, &request);
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
		rig_check_world(rig, before, rows[i].words);
		assert_int_equal(outcome.left != NULL, rows[i].left);
		assert_non_null(strstr(outcome.message, rows[i].words));
		rig_expect_failure(&outcome, GPUPASS_ERROR_BIND_FAILED,
				   "persistence mode of " B " could not be turned off");
	}
}

/* fault P6 */
/*
 * The group is free and safe, so it is not quarantined; but it is not as before, and that is said.
 */
ON_A_RIG(a_mode_that_cannot_be_put_back_is_told)
{
	const FakeFault refused = { .op = FAKE_DEFINE,
				    .nth = 1,
				    .problem = GPUPASS_ERROR_DEFINE_FAILED };
	JobRequest assign = assign_request("vm42", "pair0");
	Bdf a = { 0, 0x41, 0, 0 };
	Outcome outcome;

	shut_off(rig, true, true);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &refused);
	rig->fake.nvml_fault = (FakeNvmlFault){ .bdf = A, .turns_on = true, .why = LOST };
	outcome = rig_run(rig, &assign);
	assert_int_equal(strv_length(outcome.left), 1);
	assert_string_equal(outcome.left[0], NOT_ON_AGAIN);
	assert_true(strv_contains(outcome.steps, "persistence off: undo-failed"));
	assert_non_null(strstr(outcome.message, "State:  everything was put back as it was, but\n"
						"        " NOT_ON_AGAIN));
	rig_expect_failure(&outcome, GPUPASS_ERROR_DEFINE_FAILED, "");
	assert_null(claims_quarantine_reason(rig->claims, &a, NULL));
	assert_false(has_mode(rig, A));
	assert_true(has_mode(rig, B));
	fake_watch(&rig->fake);
	rig_must(rig, &assign);
}

/* The GPU that is stuck is not touched again, and the other one is as before. */
ON_A_RIG(a_stuck_gpu_is_not_asked_any_more)
{
	const FakeMoveFault stuck = { .bdf = A, .driver = "vfio-pci", .never_returns = true };
	JobRequest assign = assign_request("vm42", "pair0");
	_cleanup_(outcome_clear) Outcome outcome;

	shut_off(rig, true, true);
	fake_watch(&rig->fake);
	fake_fail_move(&rig->fake, &stuck);
	outcome = rig_run(rig, &assign);
	assert_int_equal(outcome.state, JOB_INCOMPLETE);
	rig_check_guests(rig, "stuck");
	assert_true(has_mode(rig, B));
	assert_null(outcome.left);
}

/* fault P6 */
/* To undo the release for it would take the GPUs from the host again. */
ON_A_RIG(a_release_goes_on_without_the_mode_and_says_so)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	_cleanup_(outcome_clear) Outcome outcome;

	shut_off(rig, true, true);
	rig_must(rig, &assign);
	fake_watch(&rig->fake);
	rig->fake.nvml_fault = (FakeNvmlFault){ .bdf = A, .turns_on = true, .why = LOST };
	outcome = rig_run(rig, &release);
	assert_int_equal(outcome.state, JOB_DONE);
	assert_int_equal(strv_length(outcome.left), 1);
	assert_string_equal(outcome.left[0], NOT_ON_AGAIN);
	assert_true(strv_contains(outcome.steps, "persistence on: failed"));
	assert_true(strv_contains(outcome.steps, "forget: done"));
	assert_true(rig_is_on(rig, A, "nvidia", ""));
	assert_true(has_mode(rig, B));
}

/* Turning it off takes seconds. Who opens a GPU meanwhile would make the unbind hang. */
static void open_on_set(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	if (op == FAKE_SET_PERSISTENCE && fake->n_holders == 0)
		fake_hold(fake, B, "python3");
}

/* fault P7 */
ON_A_RIG(a_gpu_that_is_opened_meanwhile_is_not_unbound)
{
	JobRequest assign = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	shut_off(rig, true, false);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	rig->fake.hook = open_on_set;
	outcome = rig_run(rig, &assign);
	rig_expect_failure(&outcome, GPUPASS_ERROR_HOST_IN_USE, "python3");
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	rig_check_world(rig, before, "held");
}

/* fault P3 */
/* A worker that hangs in NVML has the GPU open, and is a holder like any other. */
ON_A_RIG(a_question_that_hangs_ends_in_a_refusal)
{
	JobRequest assign = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	shut_off(rig, true, false);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	rig->fake.nvml_fault = (FakeNvmlFault){
		.bdf = A, .reads = true, .why = "NVML did not answer", .never_returns = true
	};
	outcome = rig_run(rig, &assign);
	rig_expect_failure(&outcome, GPUPASS_ERROR_HOST_IN_USE, "gpupass-worker");
	rig_check_world(rig, before, "hung");
}

/* ---- nvidia-persistenced ---- */

/* fault P9 */
/* It has one GPU open, and lets go when asked. The other is as before, and so is all afterwards. */
ON_A_RIG(what_nvidia_persistenced_keeps_is_let_go_and_turned_on_again)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	_cleanup_free_ char *before = NULL;

	shut_off(rig, false, false);
	fake_keep(&rig->fake, A);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	rig_must(rig, &assign);
	check_log(rig, OFF_THEN_VFIO);
	fake_watch(&rig->fake);
	rig_must(rig, &release);
	check_log(rig, NVIDIA_THEN_ON);
	rig_check_world(rig, before, "released");
}

/* fault P10 */
/* Refused as a holder: by name, with what it said, and before anything was moved. */
TEST(a_keeper_that_does_not_let_go_is_a_holder)
{
	static const char *const faults[] = { "nvidia-persistenced does not answer in time", "" };
	JobRequest request = assign_request("vm42", "pair0");

	for (size_t i = 0; i < ELEMENTS(faults); i++) {
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		shut_off(rig, false, false);
		fake_keep(&rig->fake, A);
		before = rig_world(rig);
		fake_watch(&rig->fake);
		rig->fake.keeper_fault = faults[i];
		outcome = rig_run(rig, &request);
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
		assert_non_null(strstr(outcome.message, "nvidia-persiste (pid 1312"));
		assert_non_null(strstr(outcome.message, faults[i]));
		rig_check_world(rig, before, faults[i]);
		assert_null(outcome.left);
		rig_expect_failure(&outcome, GPUPASS_ERROR_HOST_IN_USE,
				   "processes of the host use it");
	}
}

/* fault P10 */
/* Only the process that listens there, as the kernel knows it, is excused. */
ON_A_RIG(who_only_calls_itself_so_is_a_holder)
{
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	shut_off(rig, false, false);
	fake_keep(&rig->fake, A);
	fake_hold(&rig->fake, A, "nvidia-persiste");
	fake_watch(&rig->fake);
	outcome = rig_run(rig, &request);
	assert_int_equal(rig->fake.calls[FAKE_SET_PERSISTENCE], 0);
	assert_non_null(strstr(outcome.message, "nvidia-persiste (pid 4242"));
	assert_null(strstr(outcome.message, "pid 1312"));
	rig_expect_failure(&outcome, GPUPASS_ERROR_HOST_IN_USE, "processes of the host use it");
}

/* fault P9 */
ON_A_RIG(a_job_that_fails_has_the_mode_on_as_it_was)
{
	const FakeFault refused = { .op = FAKE_DEFINE,
				    .nth = 1,
				    .problem = GPUPASS_ERROR_DEFINE_FAILED };
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	shut_off(rig, false, true);
	fake_keep(&rig->fake, A);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &refused);
	outcome = rig_run(rig, &request);
	assert_null(outcome.left);
	rig_check_world(rig, before, "failed");
	rig_expect_failure(&outcome, GPUPASS_ERROR_DEFINE_FAILED, "");
}

/* ---- recovery ---- */

/* A job whose daemon ends after so many writes to the machine, and what becomes of it. */
typedef struct Cut {
	LedgerIo real;
	const FakeHost *fake;
	unsigned writes;
	bool cut;
} Cut;

static int append_until_cut(void *userdata, int fd, const char *text, size_t size)
{
	Cut *cut = userdata;

	cut->cut |= fake_write_calls(cut->fake) >= cut->writes;
	if (cut->cut)
		return -EIO;
	return cut->real.append(cut->real.userdata, fd, text, size);
}

static int keep_file(void *userdata, int dir_fd, const char *name)
{
	Cut *cut = userdata;

	return cut->cut ? 0 : cut->real.remove(cut->real.userdata, dir_fd, name);
}

/*
 * The daemon of the release ends behind give back. What is left to do is the mode: recovery does
 * it, and finds the record as it is to be.
 */
static void release_until_given_back(Rig *rig)
{
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	Cut cut = { .fake = &rig->fake, .writes = 3 };
	Outcome outcome;

	shut_off(rig, true, false);
	rig_must(rig, &assign);
	cut.real = rig->journal.io;
	rig->journal.io.append = append_until_cut;
	rig->journal.io.remove = keep_file;
	rig->journal.io.userdata = &cut;
	/* Nothing that comes after may touch the machine: that daemon is gone. */
	rig->fake.broken_from = 0;
	fake_watch(&rig->fake);
	rig->fake.broken_from = 4;
	outcome = rig_run(rig, &release);
	outcome_clear(&outcome);
	assert_true(cut.cut);
	rig->journal.io = cut.real;
	fake_watch(&rig->fake);
	assert_true(rig_is_on(rig, A, "nvidia", ""));
	claims_free(rig->claims);
	rig->claims = claims_new();
	rig->place.claims = rig->claims;
}

/* faults P6, P8 */
TEST(recovery_finishes_a_release_with_its_mode)
{
	static const struct {
		bool rebooted;
		const char *why; /* it cannot be set; NULL: it can */
		bool on;
	} rows[] = {
		{ false, NULL, true },
		{ false, LOST, false },
		/* The boot has made it what it is. */
		{ true, NULL, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **left = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		release_until_given_back(rig);
		if (rows[i].rebooted) {
			free(rig->journal.boot_id);
			rig->journal.boot_id = strdup("the next boot");
		}
		if (rows[i].why)
			rig->fake.nvml_fault =
				(FakeNvmlFault){ .bdf = A, .turns_on = true, .why = rows[i].why };
		rig_recover(rig, RECOVERED_DONE, &left);
		if (has_mode(rig, A) != rows[i].on)
			fail_msg("row %zu: it is %s", i, rows[i].on ? "off" : "on");
		assert_int_equal(strv_length(left), rows[i].why ? 1 : 0);
		if (rows[i].why)
			assert_string_equal(left[0], NOT_ON_AGAIN);
	}
}
