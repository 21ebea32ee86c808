/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Persistence modes of GPUs on the nvidia driver, by workers as host/launch/worker.h has them:
 *   gpupass-worker [--sysfs=DIR] [--proc=DIR] [--nvml=LIBRARY] persistence [--set=on|off] BDF…
 * answered by the document of host/wire/persistence.h. NVML opens the GPUs for that long, so
 * that nobody may unbind one meanwhile; one that nobody else has open is initialised, which takes
 * a second or two each.
 */
#pragma once

#include "core/facts/persistence.h"
#include "host/launch/worker.h"

/*
 * One child that reads all; none beside an earlier one that hangs. Filled for every GPU, by its leading
 * function: what is not known is unknown, and says why. -ENOMEM only; nothing is filled then.
 */
int worker_persistence(const WorkerConfig *config, const Bdf *gpus, size_t n, uint64_t timeout_usec,
		       GpuPersistence *ret);

typedef struct PersistenceOutcome {
	GpuPersistence gpu; /* as it is now; where it is not as it was to be, with why */
	bool still_running; /* a worker may yet set it: the deadline passed, or an older one is there */
	pid_t pid;	    /* of that one; 0: not known */
} PersistenceOutcome;

/*
 * Sets the mode of n GPUs side by side, one worker each, as worker_move() moves functions. What is
 * so already is not set. Filled for every GPU. -ENOMEM only; nothing is filled then.
 */
int worker_set_persistence(const WorkerConfig *config, const Bdf *gpus, size_t n, bool on,
			   uint64_t timeout_usec, PersistenceOutcome *ret_outcomes);
void persistence_outcome_clear(PersistenceOutcome *outcome);

/* Fills the same where functions were moved for so long that nobody was asked. */
int persistence_unasked(const Bdf *gpus, size_t n, GpuPersistence *ret);
int persistence_unset(const Bdf *gpus, size_t n, PersistenceOutcome *ret_outcomes);
