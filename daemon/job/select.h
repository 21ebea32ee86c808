/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which group and which domain a request is about. Here a person's words end: what comes after knows a
 * domain by its UUID.
 */
#pragma once

#include "job/place.h"
#include "job/prepared.h"
#include "job/request.h"

/*
 * The domain that the word means. `uses`: every domain, for what to say where there is none; NULL:
 * not known. StalePlan: it is not the one that was permitted.
 */
int select_domain(const JobPlace *place, const JobRequest *request, const char *word,
		  const DomainUses *uses, VirtDomain **ret, Problem **ret_problem);
/* After prepare_look(): sets the group, and the domain where the operation has one. */
int select_group(const JobPlace *place, const JobRequest *request, Prepared *p,
		 Problem **ret_problem);
