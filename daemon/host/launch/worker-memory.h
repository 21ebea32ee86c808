/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether boards have cleared their memory since a reset, by a worker (host/launch/worker.h):
 *   gpupass-worker [--sysfs=DIR] memory BDF…
 * It answers with one document of schema org.gpupass1.memory/1 (host/wire/memory.h).
 */
#pragma once

#include "core/facts/memory-clear.h"
#include "host/launch/config.h"

/*
 * Fills n reports, which the caller clears. A worker that does not answer in time is left alone:
 * then nothing is known.
 */
void worker_memory(const WorkerConfig *config, const Bdf *boards, size_t n, MemoryReport *ret);
