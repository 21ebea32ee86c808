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

/* faults P1, P9 */
/*
 * By NVML; or by nvidia-persistenced, which has one GPU open, and lets go when asked. The other is
 * as before, and so is all afterwards.
 */
TEST(a_release_leads_back_to_the_mode_before)
{
	for (int kept = 0; kept <= 1; kept++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		shut_off(rig, !kept, false);
		if (kept)
			fake_keep(&rig->fake, A);
		rig_note_world(rig);
		rig_must(rig, &ASSIGN);
		check_log(rig, OFF_THEN_VFIO);
		assert_false(has_mode(rig, A));
		fake_watch(&rig->fake);
		rig_must(rig, &RELEASE);
		check_log(rig, NVIDIA_THEN_ON);
		rig_check_noted(rig);
	}
}

ON_A_RIG(without_the_mode_nvml_is_asked_once_and_sets_nothing)
{
	shut_off(rig, false, false);
	rig_must(rig, &ASSIGN);
	assert_int_equal(rig->fake.calls[FAKE_PERSISTENCE], 1);
	/* Off nvidia there is nobody to ask. */
	rig_must(rig, &ASSIGN);
	rig_must(rig, &RELEASE);
	assert_int_equal(rig->fake.calls[FAKE_PERSISTENCE], 1);
	assert_int_equal(rig->fake.calls[FAKE_SET_PERSISTENCE], 0);
}

/* What a job asks starts with it; without a question about the mode, nothing for that does. */
ON_A_RIG(a_job_says_what_it_asks_as_it_begins)
{
	rig_must(rig, &BIND);
	assert_int_equal(rig->fake.expected_persistence, 1);
	rig_must(rig, &UNBIND);
	assert_int_equal(rig->fake.expected_persistence, 1);
	assert_int_equal(rig->fake.expected_work, 2);
}

/* fault P1 */
/* Whichever step fails, before or after it took effect: the mode is as it was. */
TEST(a_job_that_fails_leaves_the_mode_as_it_was)
{
	static const FakeOp ops[] = { FAKE_MOVE, FAKE_DEFINE, FAKE_INSPECT };

	for (size_t i = 0; i < ELEMENTS(ops) * 6; i++) {
		FakeFault fault = {
			.op = ops[i / 6],
			/* The first inspection may fail: it is the inventory's. */
			.nth = (unsigned)(i / 2 % 3 + (ops[i / 6] == FAKE_INSPECT ? 2 : 1)),
			.late = i % 2 != 0,
			.error = ops[i / 6] == FAKE_DEFINE ? 0 : -EIO,
			.problem = GPUPASS_ERROR_DEFINE_FAILED,
		};
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig->row = fake_op_to_string(fault.op);
		shut_off(rig, true, true);
		rig_note_world(rig);
		fake_fail(&rig->fake, &fault);
		if (rig_try(rig, &ASSIGN)->state == JOB_FAILED) {
			rig_check_noted(rig);
			assert_null(rig->last.left);
		} else if (rig->last.state != JOB_DONE || rig->fake.calls[fault.op] >= fault.nth) {
			fail_msg("%s %u: %s", rig->row, fault.nth,
				 job_state_to_string(rig->last.state));
		}
	}
}

/* Also behind the step that turned it on again. */
TEST(a_release_that_fails_leaves_the_mode_off)
{
	bool done = false, taken_back = false;

	for (unsigned nth = 2; !done; nth++) {
		FakeFault fault = { .op = FAKE_INSPECT, .nth = nth, .error = -EIO };
		_cleanup_(rig_freep) Rig *rig = rig_new();

		shut_off(rig, true, true);
		rig_must(rig, &ASSIGN);
		rig_note_world(rig);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &fault);
		done = rig_try(rig, &RELEASE)->state == JOB_DONE;
		if (!done)
			rig_check_noted(rig);
		taken_back |= strv_contains(rig->last.steps, "persistence on: undone");
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

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		shut_off(rig, true, true);
		rig->fake.nvml_fault = rows[i].fault;
		rig_fails(rig, &ASSIGN, GPUPASS_ERROR_BIND_FAILED,
			  "persistence mode of " B " could not be turned off");
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
		assert_int_equal(rig->last.left != NULL, rows[i].left);
		assert_non_null(strstr(rig->last.message, rows[i].words));
	}
}

static const FakeFault refused = { .op = FAKE_DEFINE,
				   .nth = 1,
				   .problem = GPUPASS_ERROR_DEFINE_FAILED };
static const FakeNvmlFault never_on = { .bdf = A, .turns_on = true, .why = LOST };

/* That the mode of A is not on again, and B's is. */
static void expect_left(const Rig *rig, const char *step)
{
	assert_int_equal(strv_length(rig->last.left), 1);
	assert_string_equal(rig->last.left[0], NOT_ON_AGAIN);
	assert_true(strv_contains(rig->last.steps, step));
	assert_true(rig_is_on(rig, A, "nvidia", ""));
	assert_false(has_mode(rig, A));
	assert_true(has_mode(rig, B));
}

/* fault P6 */
/*
 * The group is free and safe, so it is not quarantined; but it is not as before, and that is said.
 */
ON_A_RIG(a_mode_that_cannot_be_put_back_is_told)
{
	shut_off(rig, true, true);
	fake_fail(&rig->fake, &refused);
	rig->fake.nvml_fault = never_on;
	rig_try(rig, &ASSIGN);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_DEFINE_FAILED,
		   "State:  everything was put back as it was, but\n        " NOT_ON_AGAIN);
	expect_left(rig, "persistence off: undo-failed");
	rig_check_nothing_open(rig);
	fake_watch(&rig->fake);
	rig_must(rig, &ASSIGN);
}

/* The GPU that is stuck is not touched again, and the other one is as before. */
ON_A_RIG(a_stuck_gpu_is_not_asked_any_more)
{
	const FakeMoveFault stuck = { .bdf = A, .driver = "vfio-pci", .never_returns = true };

	shut_off(rig, true, true);
	fake_fail_move(&rig->fake, &stuck);
	rig_sticks(rig, &ASSIGN, GPUPASS_ERROR_UNBIND_TIMEOUT, "worker 4711");
	assert_true(has_mode(rig, B));
	assert_null(rig->last.left);
}

/* fault P6 */
/* To undo the release for it would take the GPUs from the host again. */
ON_A_RIG(a_release_goes_on_without_the_mode_and_says_so)
{
	shut_off(rig, true, true);
	rig_must(rig, &ASSIGN);
	rig->fake.nvml_fault = never_on;
	rig_must(rig, &RELEASE);
	expect_left(rig, "persistence on: failed");
	assert_true(strv_contains(rig->last.steps, "forget: done"));
}

/* Turning it off takes seconds. Who opens a GPU meanwhile would make the unbind hang. */
static void open_it(Rig *rig)
{
	fake_hold(&rig->fake, B, "python3");
}

/* fault P7 */
ON_A_RIG(a_gpu_that_is_opened_meanwhile_is_not_unbound)
{
	shut_off(rig, true, false);
	rig_at(rig, FAKE_SET_PERSISTENCE, 1, open_it);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "python3");
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
}

/* fault P3 */
/* A worker that hangs in NVML has the GPU open, and is a holder like any other. */
ON_A_RIG(a_question_that_hangs_ends_in_a_refusal)
{
	shut_off(rig, true, false);
	rig->fake.nvml_fault = (FakeNvmlFault){
		.bdf = A, .reads = true, .why = "NVML did not answer", .never_returns = true
	};
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "gpupass-worker");
}

/* ---- nvidia-persistenced ---- */

/* fault P10 */
/* Refused as a holder: by name, with what it said, and before anything was moved. */
TEST(a_keeper_that_does_not_let_go_is_a_holder)
{
	static const char *const faults[] = { "nvidia-persistenced does not answer in time", "" };

	for (size_t i = 0; i < ELEMENTS(faults); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		shut_off(rig, false, false);
		fake_keep(&rig->fake, A);
		rig->fake.keeper_fault = faults[i];
		rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "processes of the host use it");
		assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
		assert_non_null(strstr(rig->last.message, "nvidia-persiste (pid 1312"));
		assert_non_null(strstr(rig->last.message, faults[i]));
		assert_null(rig->last.left);
	}
}

/* fault P10 */
/* Only the process that listens there, as the kernel knows it, is excused. */
ON_A_RIG(who_only_calls_itself_so_is_a_holder)
{
	shut_off(rig, false, false);
	fake_keep(&rig->fake, A);
	fake_hold(&rig->fake, A, "nvidia-persiste");
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_HOST_IN_USE, "processes of the host use it");
	assert_int_equal(rig->fake.calls[FAKE_SET_PERSISTENCE], 0);
	assert_non_null(strstr(rig->last.message, "nvidia-persiste (pid 4242"));
	assert_null(strstr(rig->last.message, "pid 1312"));
}

/* fault P9 */
ON_A_RIG(a_job_that_fails_has_the_mode_on_as_it_was)
{
	shut_off(rig, false, true);
	fake_keep(&rig->fake, A);
	fake_fail(&rig->fake, &refused);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_DEFINE_FAILED, "");
	assert_null(rig->last.left);
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
	Cut cut = { .fake = &rig->fake, .writes = 3 };

	shut_off(rig, true, false);
	rig_must(rig, &ASSIGN);
	cut.real = rig->journal.io;
	rig->journal.io.append = append_until_cut;
	rig->journal.io.remove = keep_file;
	rig->journal.io.userdata = &cut;
	/* Nothing that comes after may touch the machine: that daemon is gone. */
	fake_watch(&rig->fake);
	rig->fake.broken_from = 4;
	rig_try(rig, &RELEASE);
	assert_true(cut.cut);
	rig->journal.io = cut.real;
	fake_watch(&rig->fake);
	assert_true(rig_is_on(rig, A, "nvidia", ""));
	rig_new_claims(rig);
}

/* faults P6, P8 */
TEST(recovery_finishes_a_release_with_its_mode)
{
	static const struct {
		bool rebooted;
		bool fails; /* it cannot be set */
		bool on;
	} rows[] = {
		{ false, false, true },
		{ false, true, false },
		/* The boot has made it what it is. */
		{ true, false, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **left = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		release_until_given_back(rig);
		if (rows[i].rebooted) {
			free(rig->journal.boot_id);
			rig->journal.boot_id = strdup("the next boot");
		}
		if (rows[i].fails)
			rig->fake.nvml_fault = never_on;
		rig_recover(rig, RECOVERED_DONE, &left);
		if (has_mode(rig, A) != rows[i].on)
			fail_msg("row %zu: it is %s", i, rows[i].on ? "off" : "on");
		assert_int_equal(strv_length(left), rows[i].fails);
		if (rows[i].fails)
			assert_string_equal(left[0], NOT_ON_AGAIN);
	}
}
