/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves by a worker that misbehaves (bad-worker.c), for tests of who waits for one. */
#pragma once

#include "bad-worker.h"
#include "sysfs-tree.h"
#include "util/clock.h"

#define LONG (60 * USEC_PER_SEC)
#define DISPLAY "0000:41:00.0"
#define AUDIO "0000:41:00.1"

static inline _unused_ DriverTarget to_vfio(const char *bdf)
{
	return (DriverTarget){
		.bdf = tree_bdf(bdf),
		.driver = "vfio-pci",
		.driver_override = "vfio-pci",
	};
}

/* The same for `n` functions that are told apart by their bus. */
static inline _unused_ void many_to_vfio(DriverTarget *targets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		targets[i] = to_vfio(DISPLAY);
		targets[i].bdf.bus = (uint8_t)i;
	}
}

/* Moves DISPLAY to vfio-pci. */
static inline _unused_ MoveOutcome move_one(const WorkerConfig *config, uint64_t timeout_usec)
{
	DriverTarget target = to_vfio(DISPLAY);
	MoveOutcome outcome;
	int r = worker_move(config, &target, 1, timeout_usec, &outcome);

	assert_int_equal(r, outcome.result.error);
	return outcome;
}
