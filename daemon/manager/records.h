/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of jobs that the loop keeps, while they run and for a while after; and the verdicts of
 * guests on NVLink, while their domains have the GPUs.
 */
#pragma once

#include "manager/types.h"

/* Running jobs of one user, or of root: none of them takes a place from another. */
#define JOBS_RUNNING_MAX 32
/* Ended jobs that stay readable: of all users together, and as many again of root. */
#define JOBS_HISTORY_MAX 32

JobRecord *manager_job(const Manager *m, uint32_t id); /* NULL: none */
/* All jobs, oldest first. */
const JobRecord *const *manager_jobs(const Manager *m, size_t *ret_n);
uint32_t manager_group_job(const Manager *m, const Group *group); /* 0: none */
/* true: a job runs, or is being recovered. */
bool manager_job_runs(const Manager *m);

JobRecord *job_record_new(uint32_t id, const JobRequest *request);
DECLARE_FREE(JobRecord, job_record_free)
/* Each updates the record from an event of its job, and takes texts out of the event. */
void job_record_planned(JobRecord *job, JobEvent *event);
void job_record_step(JobRecord *job, JobEvent *event);
void job_record_ended(JobRecord *job, JobEvent *event);
/* The state of the job's group while the job runs. */
GroupState job_record_moving_state(const JobRecord *job);

/* PROBLEM (LimitsExceeded): too many jobs of this kind, or of this user, run. */
int records_check_limits(const Manager *m, const JobRequest *request, Problem **ret_problem);
/* Takes the record. */
void records_add(Manager *m, JobRecord *job);
/* Forgets the oldest ended jobs beyond the history; the next change takes them off the bus. */
void records_trim(Manager *m);

/* The last verdict of the guest that has the group. VERDICT_UNKNOWN and 0: it was not asked. */
Verdict manager_group_verdict(const Manager *m, const Group *group, uint64_t *ret_asked_usec);
/* Keeps the verdict of a verification that ended; takes members out of the event. */
void manager_note_verdict(Manager *m, JobEvent *ended);
