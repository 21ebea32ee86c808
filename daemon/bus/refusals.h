/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs what polkit or a limit refused, and records it in the audit trail. Any user can cause any
 * number of refusals. So a burst gets one line and one record at its start, and one of each at its
 * end with the number of refusals.
 */
#pragma once

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "bus/decision.h"
#include "bus/quota.h"
#include "gpupass/cleanup.h"

typedef struct Refusals Refusals;

/* All borrowed; the bus's event loop is used. trail: NULL if none is kept. */
int refusals_new(sd_bus *bus, Intake *intake, Trail *trail, Refusals **ret);

/* polkit denied the action, a GPUPASS_ACTION_…; `why` is for the log. */
void refusals_denied(Refusals *refusals, const Decision *decision, const char *error,
		     const char *why);
/* The same, because the caller left the bus before polkit answered. */
void refusals_left(Refusals *refusals, const Decision *decision);
/* The user has reached a limit on the decision's action, a constant: "looks and dry runs". */
void refusals_limited(Refusals *refusals, const Decision *decision);
/* The same, with *error for the caller. r: the error of quota_take(). */
int refusals_over_quota(Refusals *refusals, const Decision *decision, const Quota *quota, int r,
			sd_bus_error *error);

typedef struct RefusalCounts {
	uint64_t denied;  /* by polkit */
	uint64_t limited; /* by a quota, or as a flood */
} RefusalCounts;
/* Since the start; each call counts, and not each burst. */
RefusalCounts refusals_counts(const Refusals *refusals);

/* Also logs the bursts that have not ended yet. */
Refusals *refusals_free(Refusals *refusals);
DEFINE_CLEANUP(Refusals, refusals_free)
