/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What gpupass-bind decides: assigned functions go to vfio-pci before any other driver has them.
 *
 * It never takes a function from a driver, since it has not looked for holders and nobody is there
 * to deal with a remove() that hangs: where another driver was first, that is reported. Nor does it
 * write to a function that is on vfio-pci already: a guest may run on it.
 */
#pragma once

#include <stdbool.h>

#include "core/facts/assignment.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "host/device/driver-ops.h"

#define BOOT_DRIVER "vfio-pci"

#define BOOT_OUTCOMES(X)                                                                           \
	X(BOOT_BOUND, "bound")	     /* on vfio-pci, by us or before */                            \
	X(BOOT_RESERVED, "reserved") /* driver_override is set; vfio-pci is not loaded yet */      \
	X(BOOT_MISSING, "missing")   /* nothing at this address */                                 \
	X(BOOT_CHANGED, "changed")   /* another board than the recorded one: left alone */         \
	X(BOOT_TAKEN, "taken")	     /* another driver was first: left alone */                    \
	X(BOOT_FAILED, "failed")

typedef enum BootOutcome {
#define X(enumerator, name) enumerator,
	BOOT_OUTCOMES(X)
#undef X
		BOOT_OUTCOME_MAX_,
} BootOutcome;
DECLARE_STRING_TABLE(boot_outcome, BootOutcome);

typedef struct BootFunction {
	const Assignment *assignment; /* of the report */
	const AssignedFunction *record;
	BootOutcome outcome;
	char *detail; /* for the operator; NULL: nothing to add */
} BootFunction;

typedef struct BootReport {
	Assignments *assignments;
	BootFunction *functions;
	size_t n_functions;
	char **notes; /* assignment files that cannot be used */
} BootReport;

typedef struct BootMachine {
	int sysfs_fd;
	DriverOps ops;
	/*
	 * Has n functions, whose override is set, probed side by side, and returns when all have
	 * ended or a deadline has passed. ret_errors[i]: why one failed, or NULL. Errors of its own
	 * (-ENOMEM).
	 */
	int (*probe)(const struct BootMachine *machine, const Bdf *functions, size_t n,
		     char **ret_errors);
	/* The board's serial number without a driver; NULL where it tells none. */
	int (*serial_number)(const struct BootMachine *machine, const Bdf *bdf, char **ret);
	void *userdata;
} BootMachine;

/*
 * Reads the assignments in dir_fd and acts on those functions that they name: on all of them, or on
 * `only`, whose peers in its assignment are reserved with it. Fails for lack of memory or when the directory cannot be read; everything that concerns
 * one function or one file is in the report, and keeps no other function from being bound.
 */
int boot_bind(const BootMachine *machine, int dir_fd, const Bdf *only, BootReport **ret);

/* One function whose override is set: bound to vfio-pci, if no other driver has it. Writes why not
 * to *ret_error, or leaves it NULL. -ENOMEM. */
int boot_probe(int sysfs_fd, const DriverOps *ops, const Bdf *bdf, char **ret_error);

size_t boot_report_count(const BootReport *report, BootOutcome outcome);
/* One line: "0000:41:00.0 (pair0): taken: …"; NULL when memory is out. */
char *boot_function_text(const BootFunction *function);
/* The whole report, schema org.gpupass1.boot/1; NULL when memory is out. */
char *boot_report_to_json(const BootReport *report);

BootReport *boot_report_free(BootReport *report);
DEFINE_CLEANUP(BootReport, boot_report_free)
