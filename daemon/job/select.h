/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which group and which domain a request is about, and the claims on them. From here on, code knows
 * a domain by its UUID and not by a person's word for it.
 */
#pragma once

#include "job/place.h"
#include "job/prepared.h"
#include "job/request.h"

/*
 * The domain that the word means. `uses`: all domains, for the text of NoSuchDomain; NULL: not
 * known. StalePlan: it is another domain than the one that was permitted.
 */
int select_domain(const JobPlace *place, const JobRequest *request, const char *word,
		  const DomainUses *uses, VirtDomain **ret, Problem **ret_problem);
/* After prepare_look(): sets p->group, and p->domain if the operation has a domain. */
int select_group(const JobPlace *place, const JobRequest *request, Prepared *p,
		 Problem **ret_problem);

/* Before the look, which it spares: another job has the group that the request names in hand. */
int job_check_free(const JobPlace *place, const JobRequest *request, Problem **ret_problem);
/*
 * Claims group and domain, which were seen by a look that began at `looked`; of a dry run (job 0)
 * only checks them. -ESTALE: look again. PROBLEM: GroupBusy, Quarantined.
 */
int job_claim(const JobPlace *place, const JobRequest *request, const Prepared *p, uint32_t job,
	      uint64_t looked, Problem **ret_problem);
