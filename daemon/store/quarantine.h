/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quarantines on disk: quarantine/<group>.json (schema org.gpupass1.quarantine/1). So a group in an
 * unknown state is not given away after a restart or a reboot.
 */
#pragma once

#include <stdint.h>

#include "core/base/bdf.h"
#include "core/plan/plan.h"
#include "gpupass/cleanup.h"
#include "store/claims.h"

typedef struct QuarantineStore {
	int dir_fd; /* owned */
} QuarantineStore;

typedef struct Quarantine {
	const char *group;
	const Bdf *functions;
	size_t n_functions;
	const char *reason;
	uint32_t job;
	uint64_t since_usec; /* CLOCK_REALTIME */
} Quarantine;

/* Opens the directory, and creates it if it is missing. */
int quarantine_store_open(const char *directory, QuarantineStore *ret);
void quarantine_store_close(QuarantineStore *store);

/* Sets aside a file of that name that cannot be read. */
int quarantine_store_save(const QuarantineStore *store, const Quarantine *quarantine);
/* Saves a quarantine of all functions of a plan, from now on. */
int quarantine_plan(const QuarantineStore *store, const Plan *plan, uint32_t job,
		    const char *reason);
/* 0 also if there is no such file. */
int quarantine_store_remove(const QuarantineStore *store, const char *group);

/*
 * Adds all quarantines to the claims. A file that cannot be read stays in place, and what it names
 * is quarantined: store/unread.h.
 */
int quarantine_store_load(const QuarantineStore *store, Claims *claims);
/* Sets such a file aside, for a person to read; the next load ignores it. Leaves a readable file
 * alone. */
int quarantine_store_set_aside(const QuarantineStore *store, const char *name);
