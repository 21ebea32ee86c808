/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `doctor` asks of a host, and the health of its GPUs, by workers as host/launch/worker.h has them:
 *   gpupass-worker [OPTION]... examine [BDF [PORT…]]
 */
#pragma once

#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/pci/pci-snapshot.h"
#include "host/launch/config.h"

/* The host's setup. `known_image`: as of examine_host(). Errors as of
 * worker_inspect(). */
int worker_examine_host(const WorkerConfig *config, const char *known_image, uint64_t timeout_usec,
			Examination **ret);

/*
 * The health of n GPUs, by their leading functions, side by side, one worker each: one that does
 * not answer hides no other. ret[i].error tells of each. -ENOMEM: nothing was filled.
 */
int worker_examine_gpus(const WorkerConfig *config, const PciFunction *const *leads, size_t n,
			uint64_t timeout_usec, GpuHealth *ret);
