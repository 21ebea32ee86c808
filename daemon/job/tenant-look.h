/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the marks of a group's boards for a job, and updates them with what the job found. */
#pragma once

#include "job/place.h"
#include "job/prepared.h"

/*
 * Reads all marks into p->tenants. `claimed`: the job has claimed the group; then news about its
 * boards is written to their marks before the plan decides by them. Does nothing without a store.
 */
int tenant_look(const JobPlace *place, Prepared *p, bool claimed, Problem **ret_problem);

/* PROBLEM: the mark of this board could not be stored. */
int tenant_not_stored(const JobPlace *place, const Bdf *bdf, int error, Problem **ret_problem);
