/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a request to a plan: looks at the machine once, lets core/ decide, and keeps the facts the
 * decision was made from for the preflight step. Used by jobs and by the Plan method alike.
 */
#pragma once

#include "job/place.h"
#include "job/prepared.h"
#include "job/request.h"

/*
 * job: takes the claims under this id, released by the caller with claims_release(); 0 for a dry
 * run that claims nothing. PROBLEM: the reason without its prefix; *ret_prefix then has the
 * sentence's begin ("cannot assign pair0 to vm42") as far as it was known.
 */
int prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Prepared **ret,
	    Problem **ret_problem, char **ret_prefix);
/* Another job may end while this one looks at the machine; then the look is repeated. More often than
 * this in a row means that the host is busier than it can be managed: GroupBusy. */
#define PREPARE_LOOKS_MAX 16
int prepare_too_busy(Problem **ret_problem);
/* How the sentence of a refusal begins, with what is known so far: a domain by name and UUID. */
char *prepare_prefix(const JobRequest *request, const Prepared *p);
/* Its first part: domains, assignments and groups, observed together. */
int prepare_look(const JobPlace *place, InspectConfig most, Prepared *p, Problem **ret_problem);
