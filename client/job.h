/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that return a job: sending them, watching the job to its end, telling how it went.
 *
 * Signals are subscribed to before the call is sent, and the job's properties are read once after
 * its reply, so that no end of a quick job is missed.
 */
#pragma once

#include "client.h"

/* As a shell tells of a process that SIGINT ended: 128 + 2. The job itself goes on. */
#define JOB_EXIT_INTERRUPTED 130

/* Takes no reference. Returns an exit code, or a negative errno. */
int job_run(Client *c, sd_bus_message *call);
/* The same for verbs that print another document than the job when all went well; waits. */
int job_run_without_document(Client *c, sd_bus_message *call);
