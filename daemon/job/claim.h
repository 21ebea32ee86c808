/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job claims of the host. */
#pragma once

#include "job/place.h"
#include "job/prepared.h"
#include "job/request.h"

/* Before the look, which it spares: another job has the group that the request names in hand. */
int job_check_free(const JobPlace *place, const JobRequest *request, Problem **ret_problem);
/* Before the job chooses its group itself: a group that another job has in hand is not free. `own`
 * (may be NULL) is this job's. */
void job_mark_busy(const JobPlace *place, GroupSet *groups, const Group *own);
/*
 * Claims group and domain, which were seen by a look that began at `looked`; of a dry run (job 0)
 * only checks them. -ESTALE: look again. PROBLEM: GroupBusy, Quarantined.
 */
int job_claim(const JobPlace *place, const JobRequest *request, const Prepared *p, uint32_t job,
	      uint64_t looked, Problem **ret_problem);
