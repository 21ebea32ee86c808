/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that return a job: sending them, watching the job to its end, reporting how it went.
 *
 * Subscribes to signals before it sends the call, and reads the job's properties once after the
 * reply, so that it does not miss the end of a quick job.
 */
#pragma once

#include "show/progress.h"

/* As a shell reports a process that SIGINT ended: 128 + 2. The job itself goes on. */
#define JOB_EXIT_INTERRUPTED 130

/* Reports a job that is done. Returns an exit code, or a negative errno. */
typedef int JobEnd(Client *c, Progress *p, const Job *job);

/* Takes no reference. Returns an exit code, or a negative errno. */
int job_run(Client *c, sd_bus_message *call);
/* The same, with an end of its own. */
int job_run_to(Client *c, sd_bus_message *call, JobEnd *end);

/* The number of a job, as a person writes it: 0, or the error of a usage that is wrong. */
int job_id_parse(Client *c, const char *text, uint32_t *ret);
/* Has the job cancelled, and watches it to its end. */
int job_cancel(Client *c, uint32_t id);
