/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workers that misbehave: bad-worker.c. */
#pragma once

#include <stdio.h>
#include <unistd.h>

#include "gpupass/cleanup.h"
#include "host/launch/config.h"

/*
 * What makes it misbehave so. Each process that runs tests has its own: the daemon's code finds the
 * workers of others by their command line, and tests run side by side. A thread keeps eight.
 */
static inline _unused_ const char *bad_worker_mode(const char *mode)
{
	static _Thread_local char modes[8][64];
	static _Thread_local unsigned next;
	char *text = modes[next++ % 8];

	snprintf(text, sizeof(modes[0]), "%s@%ld", mode, (long)getpid());
	return text;
}

/* One that misbehaves this way, as a child. */
static inline _unused_ WorkerConfig bad_worker(const char *mode)
{
	return (WorkerConfig){
		.program = BAD_WORKER,
		.initramfs = BAD_WORKER,
		.eraser = BAD_WORKER,
		.sysfs_dir = bad_worker_mode(mode),
		.proc_dir = "/proc",
	};
}
