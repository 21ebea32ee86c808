/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wall clock jumps by years, back and forth, each time that gpupass reads it. The program is
 * linked with --wrap=clock_gettime.
 */
#include "rig/test.h"

#include <time.h>

#include "rig/worker-model.h"
#include "util/clock.h"

#define YEARS_USEC (10 * 365 * 86400 * USEC_PER_SEC)

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static bool ahead;
	int r = __real_clock_gettime(clock, ret);

	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return r;
	ahead = !ahead;
	ret->tv_sec += (time_t)(YEARS_USEC / USEC_PER_SEC) * (ahead ? 1 : -1);
	return r;
}

static uint64_t monotonic(void)
{
	struct timespec t;

	__real_clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / 1000;
}

TEST(the_clock_jumps_here)
{
	uint64_t a = now_realtime(), b = now_realtime();

	assert_true(a > b ? a - b > YEARS_USEC : b - a > YEARS_USEC);
}

/* fault 43 */
TEST(a_deadline_is_kept_and_what_ends_in_time_is_not_cut_off)
{
	const WorkerConfig late = bad_worker("slow-3000"), early = bad_worker("slow-300");
	const DriverTarget target = { .bdf = { .bus = 0x41 },
				      .driver = "vfio-pci",
				      .driver_override = "vfio-pci" };
	MoveOutcome outcome;
	uint64_t begun = monotonic();

	assert_int_equal(host_move(WORKERS(&late), &target, 1, USEC_PER_SEC, &outcome), -ETIMEDOUT);
	assert_in_range(monotonic() - begun, USEC_PER_SEC * 9 / 10, USEC_PER_SEC * 5 / 2);
	assert_true(outcome.still_running);
	move_outcome_clear(&outcome);
	assert_int_equal(host_move(WORKERS(&early), &target, 1, 20 * USEC_PER_SEC, &outcome), 0);
	move_outcome_clear(&outcome);
}
