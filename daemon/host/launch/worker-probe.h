/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe of links, by a worker (host/launch/worker.h):
 *   gpupass-worker [--sysfs=DIR] [--nvml=LIBRARY] probe [--mmio] BDF…
 * It answers with one document of schema org.gpupass1.probe/1 (host/wire/probe.h).
 */
#pragma once

#include "host/launch/worker.h"
#include "host/wire/probe.h"

/*
 * Asks NVML about these leading functions, or with `mmio` reads their link registers. 0 with *ret,
 * whose `error` may say that nothing could be observed. -ETIMEDOUT: the worker waits, and is left
 * alone (*ret_pid). -EPROTO and -EBADMSG: see worker_move().
 */
int worker_probe(const WorkerConfig *config, const Bdf *functions, size_t n, bool mmio,
		 uint64_t timeout_usec, ProbeAnswer *ret, pid_t *ret_pid);
