/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job in the audit trail, before its first step that writes. */
#pragma once

#include "job/place.h"
#include "job/prepared.h"

/*
 * 0: the record is on disk, or may be lost. PROBLEM (StateReadOnly): it is not, and the job would
 * give hardware away, which must not be done unrecorded. What takes hardware back goes on all the
 * same; the trail then counts the record as lost. No undo and no recovery asks.
 */
int audit_job_begun(const JobPlace *place, const Prepared *prepared, uint32_t job,
		    Problem **ret_problem);
