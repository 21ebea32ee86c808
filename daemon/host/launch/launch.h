/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts what changes or looks at functions: a part of the daemon, which systemd runs outside the
 * daemon's control group, life and rights; or a child of this process, where there are no parts.
 */
#pragma once

#include "host/launch/child.h"
#include "host/launch/config.h"
#include "host/launch/part.h"
#include "util/bdf.h"

/*
 * Of `argv` of a child: the program, --sysfs, --proc and --root. A part, which looks at the host
 * that it is on, gets what follows.
 */
#define LAUNCH_CHILD_WORDS 4U

/*
 * Some questions side by side, one document each, to one part each. Those to the mover are a batch:
 * one connection and one instance for all functions, which works on them side by side and answers
 * with one line each. Where there are no parts, one child a question.
 */
typedef struct Launch {
	const WorkerConfig *config;
	Children *children; /* one a question, and the mover's connection behind them */
	const char **parts; /* which part is asked */
	char ***queue;	    /* argv of each that is to be started; NULL: none */
	int *errors;	    /* why it was not started; 0: it was */
	size_t n;
} Launch;

/* Starts nothing yet: parts and queue are to be filled. */
Launch launch_begin(const WorkerConfig *config, size_t n, size_t output_max);

/*
 * Starts all, and returns when all have ended or have worked for `timeout_usec`: for the parts to
 * begin, which is systemd's matter, there is time of its own. But no later than at `deadline_usec`
 * (CLOCK_MONOTONIC; 0: none). Parts that wait for another request then are kept for it. After one
 * that could not be started no more are: the error of those is -ECANCELED. It is -EBUSY when
 * an older worker is at work on the function, and none was started.
 */
void launch_run(Launch *launch, uint64_t timeout_usec, uint64_t deadline_usec);

void launch_end(Launch *launch);
