/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a request to a plan: looks at the machine once, lets core/ decide, and keeps the facts
 * behind the decision for the preflight step. Jobs and the Plan method both use it.
 */
#pragma once

#include "job/place.h"
#include "job/prepared.h"
#include "job/request.h"

/*
 * job: takes the claims under this id, and the caller releases them with claims_release(). 0: a dry
 * run, which claims nothing. PROBLEM: the reason without its prefix. *ret_prefix has the start of
 * the sentence ("cannot assign pair0 to vm42"), as far as it is known.
 */
int prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Prepared **ret,
	    Problem **ret_problem, char **ret_prefix);
/* When another job ends while this one looks at the machine, this one looks again. After this many
 * looks in a row the host is too busy: GroupBusy. */
#define PREPARE_LOOKS_MAX 16
int prepare_too_busy(Problem **ret_problem);
/* The start of a refusal, with what is known so far: a domain by name and UUID. */
char *prepare_prefix(const JobRequest *request, const Prepared *p);
/* Observes the groups by the assignments of `p`, and by what its uses say of domains (NULL: not known). */
int look_at_groups(const JobPlace *place, InspectConfig most, Prepared *p);
/*
 * The first part of prepare(): reads assignments and domains, all of these anew if `fresh`, and
 * observes the groups.
 */
int prepare_look(const JobPlace *place, InspectConfig most, bool fresh, Prepared *p,
		 Problem **ret_problem);
