/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs as the loop sees them: started, and followed to their end. */
#pragma once

#include "manager/types.h"

/* Starts a job. PROBLEM (LimitsExceeded): too many jobs run. */
int manager_start_job(Manager *m, const JobRequest *request, uint32_t *ret_id,
		      Problem **ret_problem);
/* Makes a plan without running it. */
int manager_plan(Manager *m, const JobRequest *request, PlanListener listener, void *userdata);
