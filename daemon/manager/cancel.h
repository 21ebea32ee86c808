/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cancelling a job. Its thread stops at its next step, and undoes what was done (job/cancel.h). */
#pragma once

#include "manager/types.h"

/*
 * In the name of this user, unless somebody else was first. PROBLEM: NoSuchJob; TooLate: it has
 * ended, is undone already, or is of an earlier daemon and being recovered.
 */
int manager_cancel_job(Manager *m, uint32_t id, uint32_t uid, Problem **ret_problem);
