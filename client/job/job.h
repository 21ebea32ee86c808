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

/*
 * Sends the call, which stays the caller's, and reports the job as it ends; one that is done by
 * `end`, or NULL in the usual way. Returns an exit code, or a negative errno.
 */
int job_run(Client *c, sd_bus_message *call, JobEnd *end);
/*
 * The same of a method of the manager with up to two arguments, the options of the command line,
 * and in these the group, unless NULL.
 */
int job_request(Client *c, const char *method, const char *first, const char *second,
		const char *group, JobEnd *end);
/* Appends the options that were given; an operation, and one of several groups, unless NULL. */
int request_append_options(Client *c, sd_bus_message *call, const char *operation,
			   const char *group);
/* --live and --config exclude no one: both may be given. The plan of a release takes neither. */
int request_check(Client *c, Operation operation);

/* The document org.gpupass1.job/1. */
int job_print_json(Client *c, const Job *job);
/* The number of a job, as a person writes it: 0, or the error of a usage that is wrong. */
int job_id_parse(Client *c, const char *text, uint32_t *ret);
/* Has the job cancelled, and watches it to its end. */
int job_cancel(Client *c, uint32_t id);
