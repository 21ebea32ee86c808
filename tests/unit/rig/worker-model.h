/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves by a worker that misbehaves (bad-worker.c), for tests of who waits for one. */
#pragma once

#include "bad-worker.h"
#include "host/host/questions.h"
#include "sysfs-tree.h"
#include "util/clock.h"

static inline _unused_ void ask_workers(Host *host, Ask *asks, size_t n, uint64_t timeout_usec)
{
	ask_parts(host->machine, asks, n, timeout_usec, host->deadline_usec);
}

static inline _unused_ pid_t find_worker(Host *host, const Bdf *function)
{
	return worker_find(host->machine, function ? LOCK_FUNCTION : LOCK_PROBE, function);
}

static const HostOps worker_ops _unused_ = { .ask = ask_workers, .worker_on = find_worker };

/* A host that asks these workers, without its gates; and one that waits no longer than that. */
#define WORKERS_BY(config, deadline)                                                               \
	(&(Host){ .ops = &worker_ops, .machine = (void *)(config), .deadline_usec = (deadline) })
#define WORKERS(config) WORKERS_BY(config, 0)
#define WORKERS_UNTIL(config, usec) WORKERS_BY(config, now_monotonic() + (usec))

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
	int r = host_move(WORKERS(config), &target, 1, timeout_usec, &outcome);

	assert_int_equal(r, outcome.result.error);
	return outcome;
}
