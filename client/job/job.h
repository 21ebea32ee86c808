/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that return a job: sending them, watching the job to its end, telling how it went.
 *
 * Signals are subscribed to before the call is sent, and the job's properties are read once after
 * its reply, so that no end of a quick job is missed.
 */
#pragma once

#include "show/progress.h"

/* As a shell tells of a process that SIGINT ended: 128 + 2. The job itself goes on. */
#define JOB_EXIT_INTERRUPTED 130

/* What is told of a job that is done. Returns an exit code, or a negative errno. */
typedef int JobEnd(Client *c, Progress *p, const Job *job);

/* Takes no reference. Returns an exit code, or a negative errno. */
int job_run(Client *c, sd_bus_message *call);
/* The same, with an end of its own. */
int job_run_to(Client *c, sd_bus_message *call, JobEnd *end);
