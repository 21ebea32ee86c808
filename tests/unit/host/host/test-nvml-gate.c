/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVML's questions and moves keep apart, and one that hangs keeps nobody waiting. */
#include "rig/test.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "gpupass/cleanup.h"
#include "host/host/questions.h"
#include "rig/real-host.h"
#include "util/clock.h"
#include "util/text.h"

#define HOUR (3600 * USEC_PER_SEC)

static const Bdf moving = { 0, 0x41, 0, 0 }, other = { 0, 0x81, 0, 0 };

static int ask(NvmlGate *gate, uint64_t deadline, Bdf *ret_stuck)
{
	int r = nvml_gate_begin_question(gate, deadline, ret_stuck);

	if (r == 0)
		nvml_gate_end_question(gate);
	return r;
}

/* A gate of this patience, with a move under way. */
static void begin(NvmlGate *gate, uint64_t patience, NvmlMove *move)
{
	nvml_gate_init(gate, patience);
	nvml_gate_begin_move(gate, move, &moving);
}

TEST(a_question_waits_for_a_move_up_to_its_deadline_and_is_free_then)
{
	NvmlGate gate;
	NvmlMove move;
	Bdf stuck;

	begin(&gate, HOUR, &move);
	assert_int_equal(ask(&gate, now_monotonic() + 1000, &stuck), -ETIMEDOUT);
	nvml_gate_end_move(&gate, &move);
	assert_int_equal(ask(&gate, 0, &stuck), 0);
}

TEST(one_question_waits_for_another)
{
	NvmlGate gate;
	Bdf stuck;

	nvml_gate_init(&gate, 0);
	assert_int_equal(nvml_gate_begin_question(&gate, 0, &stuck), 0);
	assert_int_equal(ask(&gate, now_monotonic() + 1000, &stuck), -ETIMEDOUT);
	nvml_gate_end_question(&gate);
	assert_int_equal(ask(&gate, 0, &stuck), 0);
}

/* Its deadline is an hour away: were it to wait, this test would not end. */
TEST(a_question_gives_up_where_a_move_hangs)
{
	NvmlMove first, second;
	NvmlGate gate;
	Bdf stuck = { 0 };

	begin(&gate, 0, &first);
	nvml_gate_begin_move(&gate, &second, &other);
	second.begun = first.begun + 1;
	assert_int_equal(ask(&gate, now_monotonic() + HOUR, &stuck), -EBUSY);
	assert_true(bdf_equal(&stuck, &moving));
	nvml_gate_end_move(&gate, &first);
	nvml_gate_end_move(&gate, &second);
	assert_int_equal(ask(&gate, 0, &stuck), 0);
}

/* A driver may let go of many GPUs one after another. */
TEST(a_long_move_does_not_hang_while_others_end)
{
	NvmlGate gate;
	NvmlMove move;
	Bdf stuck;

	begin(&gate, 1, &move);
	move.begun = 1;
	gate.ended = now_monotonic() + HOUR;
	assert_int_equal(ask(&gate, now_monotonic() + 1000, &stuck), -ETIMEDOUT);
	gate.ended = 1;
	assert_int_equal(ask(&gate, now_monotonic() + HOUR, &stuck), -EBUSY);
}

typedef struct Mover {
	NvmlGate gate;
	atomic_bool asked;
	bool waited;
} Mover;

static void *move_after_the_question(void *data)
{
	Mover *mover = data;
	NvmlMove move;

	nvml_gate_begin_move(&mover->gate, &move, &moving);
	mover->waited = atomic_load(&mover->asked);
	nvml_gate_end_move(&mover->gate, &move);
	return NULL;
}

TEST(no_move_begins_while_nvml_is_asked)
{
	Mover mover = { 0 };
	pthread_t thread;
	Bdf stuck;

	nvml_gate_init(&mover.gate, HOUR);
	assert_int_equal(nvml_gate_begin_question(&mover.gate, 0, &stuck), 0);
	assert_int_equal(pthread_create(&thread, NULL, move_after_the_question, &mover), 0);
	atomic_store(&mover.asked, true);
	nvml_gate_end_question(&mover.gate);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(mover.waited);
}

/* No worker is started: the program is none. */
TEST(a_host_says_why_nvml_was_not_asked)
{
	static const char why[] = "NVML was not asked, since it may open 0000:41:00.0, which has "
				  "been moving for too long";
	WorkerConfig config = { .program = "/dev/null", .sysfs_dir = "/sys", .proc_dir = "/proc" };
	_cleanup_(gpu_persistence_clear) GpuPersistence set = { 0 };
	_cleanup_(gpu_persistence_clear) GpuPersistence read = { 0 };
	RealHost host;
	NvmlMove move;

	assert_int_equal(real_host_init(&host, &config), 0);
	host.nvml_gate.patience_usec = 0;
	nvml_gate_begin_move(&host.nvml_gate, &move, &moving);
	host_persistence(&host.host, &other, 1, &read);
	assert_int_equal(read.mode, PERSISTENCE_UNKNOWN);
	assert_string_equal(read.why, why);
	host_set_persistence(&host.host, &other, 1, false, 0, &set);
	assert_int_equal(set.mode, PERSISTENCE_UNKNOWN);
	assert_string_equal(set.why, why);
	nvml_gate_end_move(&host.nvml_gate, &move);
	real_host_done(&host);
}
