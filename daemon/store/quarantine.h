/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quarantines on disk: quarantine/GROUP.json. So a group in an unknown state is not given away
 * after a restart or a reboot.
 */
#pragma once

#include <stdint.h>

#include "core/plan/plan.h"
#include "gpupass/cleanup.h"
#include "store/claims.h"
#include "store/records.h"
#include "util/bdf.h"

typedef RecordStore QuarantineStore; /* of quarantine_kind */

typedef struct Quarantine {
	char *group;
	char *reason;
	uint32_t job;
	uint64_t since_usec; /* CLOCK_REALTIME */
	Bdf *functions _json_(max GROUP_FUNCTIONS_MAX);
	size_t n_functions;
} Quarantine;
DECLARE_FREE(Quarantine, quarantine_free)

extern const RecordKind quarantine_kind;
/* Sets aside a file of that name that cannot be read. */
int quarantine_store_save(QuarantineStore *store, const Quarantine *quarantine);
/* Saves a quarantine of all functions of a plan, from now on. */
int quarantine_plan(QuarantineStore *store, const Plan *plan, uint32_t job, const char *reason);
/* 0 also if there is no such file. */
int quarantine_store_remove(QuarantineStore *store, const char *group);

/*
 * Adds all quarantines to the claims. A file that cannot be read stays in place, and what it names
 * is quarantined: claims_add_fault().
 */
void quarantine_store_load(QuarantineStore *store, Claims *claims);
/* Sets such a file aside, for a person to read; the next load ignores it. Leaves a readable file
 * alone. */
int quarantine_store_set_aside(QuarantineStore *store, const char *name);
