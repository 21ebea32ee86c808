/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that does one thing about one host. What it starts, such as ssh, ends with it: it has a
 * session of its own. So it has no terminal, and neither has ssh, which therefore asks nobody.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes what it has to say to `out`. Returns the exit code. */
typedef int ProcessRun(void *userdata, size_t i, int out);

typedef struct Process {
	pid_t pid;
	int out, err; /* to be read; reads do not wait */
} Process;

/*
 * Calls run() in a copy of this process, with nothing on its standard input, and standard error
 * going to ret->err. When this process ends, or the time is over, all of it ends. -errno.
 */
int process_start(ProcessRun *run, void *userdata, size_t i, uint64_t limit_usec, Process *ret);
/* Ends it and all that it started, at once. It must not have been waited for. */
void process_kill(pid_t pid);
