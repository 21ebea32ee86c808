/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quarantines on disk: quarantine/<group>.json (schema org.gpupass1.quarantine/1), so that neither
 * a restart nor a reboot gives a group away of which nobody knows what it is doing.
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

/* Opens the directory, creating it if need be. */
int quarantine_store_open(const char *directory, QuarantineStore *ret);
void quarantine_store_close(QuarantineStore *store);

/* A file of that name that cannot be read is set aside. */
int quarantine_store_save(const QuarantineStore *store, const Quarantine *quarantine);
/* The same for all functions of a plan, from now. */
int quarantine_plan(const QuarantineStore *store, const Plan *plan, uint32_t job,
		    const char *reason);
/* Success also when there is none. */
int quarantine_store_remove(const QuarantineStore *store, const char *group);

/*
 * Puts all of them into the claims. A file that cannot be read stays where it is, and keeps apart what
 * can be read of it: store/unread.h.
 */
int quarantine_store_load(const QuarantineStore *store, Claims *claims);
/* Keeps such a file for a person, out of the way of the next load; one that can be read stays. */
int quarantine_store_set_aside(const QuarantineStore *store, const char *name);
