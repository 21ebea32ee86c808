/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts what changes or looks at functions: a part of the daemon, which systemd runs outside the
 * daemon's control group, life and rights; or a child of this process, where there are no parts.
 */
#pragma once

#include "core/base/bdf.h"
#include "host/launch/child.h"
#include "host/launch/config.h"
#include "host/launch/part.h"

/*
 * Of `argv` of a child: the program, --sysfs, --proc and --root. A part, which looks at the host
 * that it is on, gets what follows.
 */
#define LAUNCH_CHILD_WORDS 4U

/*
 * One question to one part, which answers with one document, or to a child. Started ones are
 * waited for together. -errno: nothing was started.
 */
int launch_one(const WorkerConfig *config, const char *part, Children *children, size_t index,
	       char *const *argv);

/*
 * Waits for what was started: first for the parts to begin, which is systemd's matter, then as long
 * as the work may take. Those that wait for another request then are kept for it.
 */
void launch_wait(const WorkerConfig *config, Children *children, uint64_t timeout_usec);

/*
 * A batch for the mover: one connection and one instance for all functions, which works on them
 * side by side and answers with one line each. Where there is no mover, one child a function.
 */
typedef struct Launch {
	const WorkerConfig *config;
	Children *children; /* one a function, and the mover's connection behind them */
	char ***queue;	    /* argv of each that is to be started; NULL: none */
	int *errors;	    /* why it was not started; 0: it was */
	size_t n;
} Launch;

/* Starts nothing yet: the queue is to be filled. */
Launch launch_begin(const WorkerConfig *config, size_t n, size_t output_max);

/*
 * Starts all, and returns when all have ended or the deadline has passed. After a child that could
 * not be started no more are: launch_error() of those is -ECANCELED. It is -EBUSY when an older
 * worker is at work on the function, and none was started.
 */
void launch_run(Launch *launch, uint64_t timeout_usec);

int launch_error(const Launch *launch, size_t index);
const Child *launch_child(const Launch *launch, size_t index);

/* The pid of the worker that is at work on the function; 0: not known, or none. */
pid_t launch_pid(const WorkerConfig *config, const Child *child, const Bdf *function);

void launch_end(Launch *launch);
