/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs as the loop sees them: started, and followed to their end. */
#pragma once

#include "manager/types.h"

/* Starts a job. PROBLEM (LimitsExceeded): too many jobs run. */
int manager_start_job(Manager *m, const JobRequest *request, uint32_t *ret_id,
		      Problem **ret_problem);
/* Makes a plan without running it. */
void manager_plan(Manager *m, const JobRequest *request, PlanListener listener, void *userdata);
/*
 * Cancels a job in the name of this user, unless somebody else was first. Its thread stops at its
 * next step, and undoes what was done (job/cancel.h). PROBLEM: NoSuchJob; TooLate: it has ended, is
 * undone already, or is of an earlier daemon and being recovered.
 */
int manager_cancel_job(Manager *m, uint32_t id, uint32_t uid, Problem **ret_problem);
