/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A move of one PCI function from its driver to another: the target, and the result. */
#pragma once

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

/* Where the function should be. */
typedef struct DriverTarget {
	Bdf bdf;
	const char *driver;	     /* NULL: no driver */
	const char *driver_override; /* NULL: none */
	/*
	 * Another driver keeps the function, and the result is -EBUSY in the phase verify. For
	 * callers that have not looked for holders.
	 */
	bool never_unbind;
} DriverTarget;

/* How far driver_move_with() got: names the failing write. */
#define DRIVER_PHASES(X)                                                                           \
	X(DRIVER_PHASE_READ, "read")                                                               \
	X(DRIVER_PHASE_LOCK, "unbindLock")                                                         \
	X(DRIVER_PHASE_OVERRIDE, "driver_override")                                                \
	X(DRIVER_PHASE_UNBIND, "unbind")                                                           \
	X(DRIVER_PHASE_PROBE, "probe")                                                             \
	X(DRIVER_PHASE_VERIFY, "verify")

DECLARE_ENUM(driver_phase, DriverPhase, DRIVER_PHASES, DRIVER_PHASE_MAX_);

typedef struct DriverResult {
	int error _json_(errno);		   /* 0 or -errno */
	DriverPhase phase _json_(wrong "is none"); /* where, when error != 0 */
	bool changed;				   /* something was written */
	char *driver _json_(if_any);		   /* as re-read at the end; NULL: none */
	char *driver_override _json_(if_any);
} DriverResult;
DECLARE_CLEAR(DriverResult, driver_result_clear)
