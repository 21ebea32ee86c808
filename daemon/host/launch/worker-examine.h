/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's setup for `doctor`, and the health of its GPUs, from workers (host/launch/worker.h):
 *   examine [BDF [PORT…]], and of the host also by halves: examine --without-image, image
 */
#pragma once

#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "core/pci/pci-snapshot.h"
#include "host/launch/config.h"

/*
 * The host's setup. `known_image`: the key of an image that was read before, or NULL. Errors: see
 * worker_inspect().
 */
int worker_examine_host(const WorkerConfig *config, const char *known_image, uint64_t timeout_usec,
			Examination **ret);

/*
 * The health of n GPUs, given by their leading functions, in parallel, with one worker each, so
 * that one that does not answer hides no other. ret[i].error has the error of each.
 */
void worker_examine_gpus(const WorkerConfig *config, const PciFunction *const *leads, size_t n,
			 uint64_t timeout_usec, GpuHealth *ret);
