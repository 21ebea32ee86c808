/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs as the loop keeps them: while they run, and for a while after. */
#pragma once

#include "manager/types.h"

/* Jobs at a time, of all users, and as many of root: no user leaves root without. */
#define JOBS_RUNNING_MAX 64
/* Of them, of one user who is not root: polkit may let many act, and none shall stop the others. */
#define JOBS_RUNNING_USER_MAX 16
/* Ended jobs that stay readable, of all users, and as many of root. */
#define JOBS_HISTORY_MAX 32

const JobRecord *manager_job(const Manager *m, uint32_t id); /* NULL: none */
/* All jobs, oldest first. */
const JobRecord *const *manager_jobs(const Manager *m, size_t *ret_n);
uint32_t manager_group_job(const Manager *m, const Group *group); /* 0: none */
/* A job, or the recovery of one, has part of the machine in hand. */
bool manager_job_runs(const Manager *m);

int job_record_new(uint32_t id, const JobRequest *request, JobRecord **ret);
void job_record_free(JobRecord *job);
/* What a job tells of itself; takes texts out of the event. */
void job_record_planned(JobRecord *job, JobEvent *event);
void job_record_step(JobRecord *job, JobEvent *event);
void job_record_ended(JobRecord *job, JobEvent *event);
/* The state of its group while it runs. */
GroupState job_record_moving_state(const JobRecord *job);

/* LimitsExceeded: too many of this kind, or of this user's, at a time. */
int records_check_limits(const Manager *m, const JobRequest *request, Problem **ret_problem);
/* Memory for one more: the records_add() that follows cannot fail. */
int records_reserve(Manager *m);
/* Takes the job. */
void records_add(Manager *m, JobRecord *job);
JobRecord *records_find(const Manager *m, uint32_t id);
/* Forgets the oldest ended jobs beyond the history, and tells the listener. */
void records_trim(Manager *m);
