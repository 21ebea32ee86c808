/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Persistence modes of GPUs on the nvidia driver, from workers (host/launch/worker.h):
 *   gpupass-worker [--sysfs=DIR] [--proc=DIR] [--nvml=LIBRARY] [--root=DIR]
 *           persistence [--set=on|off] BDF…
 * The answer is the document of host/wire/persistence.h. NVML has the GPUs open meanwhile, so no
 * other job may unbind one. The driver initialises a GPU that nobody else has open, which takes a
 * second or two each.
 */
#pragma once

#include "core/facts/persistence.h"
#include "host/launch/worker.h"

/*
 * One child reads all modes; none starts while an earlier one hangs. Filled for every GPU, by its
 * leading function: a mode that is not known is unknown, with the reason.
 */
void worker_persistence(const WorkerConfig *config, const Bdf *gpus, size_t n,
			uint64_t timeout_usec, GpuPersistence *ret);

typedef struct PersistenceOutcome {
	GpuPersistence gpu; /* the mode now; with a reason if it is not the requested one */
	bool still_running; /* a worker may still set it: a late one, or an older one */
	pid_t pid;	    /* of that worker; 0: not known */
} PersistenceOutcome;

/*
 * Sets the mode of n GPUs in parallel, with one worker each, as worker_move() moves functions. Does
 * not set a mode that is already right. Filled for every GPU.
 */
void worker_set_persistence(const WorkerConfig *config, const Bdf *gpus, size_t n, bool on,
			    uint64_t timeout_usec, PersistenceOutcome *ret_outcomes);
void persistence_outcome_clear(PersistenceOutcome *outcome);

/* Fills the same when no worker was started, because of moves. */
void persistence_unasked(const Bdf *gpus, size_t n, const char *why, GpuPersistence *ret);
void persistence_unset(const Bdf *gpus, size_t n, const char *why,
		       PersistenceOutcome *ret_outcomes);
