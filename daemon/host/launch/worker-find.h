/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds workers that an earlier daemon left behind. */
#pragma once

#include <sys/types.h>

#include "core/base/bdf.h"
#include "host/launch/config.h"

/*
 * The process that runs this worker program to move this function in this sysfs; 0: none. In the
 * real /proc; `proc_dir` may be another host's. The process has our uids. It is in the function's
 * unit; or its program is this file, or it is in our service's control group, and then its command
 * line says what it does. Nobody else can make such a process.
 */
pid_t worker_find(const WorkerConfig *config, const Bdf *function);

/* "gpupass-worker@0000:41:00.0.service", whatever the worker does; NULL when out of memory. */
char *worker_unit_name(const Bdf *function);

/* A worker that probes on this host, even one of an earlier daemon; 0: none. */
pid_t worker_find_probe(const WorkerConfig *config);

/* A worker that reads modes on this host, even one of an earlier daemon; 0: none. */
pid_t worker_find_persistence(const WorkerConfig *config);
