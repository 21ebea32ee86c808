/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains that have a part of a group, or a group that is not assigned to them. */
#pragma once

#include "core/group/group.h"
#include "core/links/declaration.h"

typedef struct FenceFinding {
	bool split;   /* a part of the group; false: the whole, without an assignment */
	bool running; /* the guest has it; false: the definition does */
	char *group;
	char *domain_uuid, *domain_name;
	char *functions; /* that it has: "0000:41:00.0,0000:41:00.1" */
	char *what;	 /* one sentence */
	char *remedy;
} FenceFinding;

typedef struct FenceReport {
	FenceFinding *items; /* group by group */
	size_t n_items;
} FenceReport;

/* Groups whose links nobody knows are left out, and so is a whole group that is for foreign use. */
FenceReport *fence_report(const GroupSet *groups, const DomainUses *uses,
			  const Assignments *assignments);
/* `report` (NULL: empty) has the same finding. */
bool fence_report_has(const FenceReport *report, const FenceFinding *finding);
DECLARE_FREE(FenceReport, fence_report_free)
