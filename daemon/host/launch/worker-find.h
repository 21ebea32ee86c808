/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds workers that an earlier daemon left behind. */
#pragma once

#include <sys/types.h>

#include "core/base/bdf.h"
#include "host/launch/config.h"

/*
 * The process that is at work on this function; 0: none. A part has the lock of the function's name
 * (util/pid-lock.h). A child is found in the real /proc; `proc_dir` may be another host's: it has
 * our uids, its program is this file or it is in our service's control group, and its command line
 * says what it does. Nobody else can make such a process.
 */
pid_t worker_find(const WorkerConfig *config, const Bdf *function);

/* A worker that probes on this host, even one of an earlier daemon; 0: none. */
pid_t worker_find_probe(const WorkerConfig *config);

/* A worker that reads modes on this host, even one of an earlier daemon; 0: none. */
pid_t worker_find_persistence(const WorkerConfig *config);
