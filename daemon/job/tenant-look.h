/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The marks of a group's boards for a job: read, and made to say what the job's look has found. */
#pragma once

#include "job/place.h"
#include "job/prepared.h"

/*
 * Reads all marks into p->tenants. With `claimed` the group is this job's, and what was found of it and
 * is not in its marks is written before anything is decided by it. Nothing without a store.
 */
int tenant_look(const JobPlace *place, Prepared *p, bool claimed, Problem **ret_problem);

int tenant_not_stored(const JobPlace *place, const Bdf *bdf, int error, Problem **ret_problem);
