/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers that a daemon before this one left behind. */
#pragma once

#include "host/worker.h"

/*
 * The process that runs this worker program to move this function in this sysfs; 0: none. Found by
 * its command line, which can be read while it waits in the kernel, in the real /proc: `proc_dir`
 * may be another host's.
 */
pid_t worker_find(const WorkerConfig *config, const Bdf *function);
