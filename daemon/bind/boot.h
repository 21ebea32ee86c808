/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What gpupass-bind decides: assigned and kept functions go to vfio-pci before any other driver has
 * them.
 *
 * It never unbinds a function from a driver, because it has not looked for holders and nobody is
 * there to deal with a remove() that hangs; it reports that another driver was first. Nor does it
 * write to a function that is already on vfio-pci: a guest may run on it. A VF's rules are its
 * NIC's, and take nothing from a guest.
 */
#pragma once

#include "core/facts/assignment.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "host/device/driver.h"
#include "host/launch/config.h"

#define BOOT_DRIVER "vfio-pci"

#define BOOT_OUTCOMES(X)                                                                           \
	X(BOOT_BOUND, "bound")	     /* on vfio-pci, by us or before */                            \
	X(BOOT_RESERVED, "reserved") /* driver_override is set; vfio-pci is not loaded yet */      \
	X(BOOT_MISSING, "missing")   /* nothing at this address */                                 \
	X(BOOT_CHANGED, "changed")   /* the board is not the recorded one: left alone */           \
	X(BOOT_TAKEN, "taken")	     /* another driver was first: left alone */                    \
	X(BOOT_FAILED, "failed")

DECLARE_ENUM(boot_outcome, BootOutcome, BOOT_OUTCOMES, BOOT_OUTCOME_MAX_);

typedef struct BootFunction {
	const Assignment *assignment; /* of the report; of a kept group, without a domain */
	const AssignedFunction *record;
	BootOutcome outcome;
	bool ruled;   /* a VF: it has its rules */
	bool early;   /* changed for all that is known before its GPUs are there */
	char *detail; /* for the operator; NULL: nothing to add */
} BootFunction;

typedef struct BootReport {
	Assignments *assignments;
	BootFunction *functions;
	size_t n_functions;
	char **notes;	  /* files that cannot be used */
	bool lacks_peers; /* of the one function: some of its group are not there */
} BootReport;

typedef struct BootMachine {
	int sysfs_fd;
	DriverOps ops;
	/*
	 * Probes n functions whose override is set, in parallel. Returns when all have ended or a
	 * deadline has passed. ret_errors[i]: why one failed, or NULL.
	 */
	void (*probe)(const struct BootMachine *machine, const Bdf *functions, size_t n,
		      char **ret_errors);
	/* The board's serial number without a driver; NULL if it gives none. */
	int (*serial_number)(const struct BootMachine *machine, const Bdf *bdf, char **ret);
	/* vf_rule() */
	char *(*rule_vf)(const WorkerConfig *parts, const Bdf *vf);
	const WorkerConfig *parts;
	void *userdata;
} BootMachine;

/* Directories; -1: there is none. */
typedef struct BootWishes {
	int assigned_fd;
	int kept_fd;
} BootWishes;

/*
 * Reads assignments and kept groups, and binds the functions that they name: all of them, or only
 * `only`, whose free peers in its group get their override as well. What is assigned is bound as
 * its assignment says, whether it is kept, too, or not. A fault of one function or one file goes
 * into the report, and keeps no other function from being bound. A VF has its rules before vfio-pci
 * has it.
 */
BootReport *boot_bind(const BootMachine *machine, const BootWishes *wishes, const Bdf *only);

/* The same of functions that the report says are missing, and that are there now. */
void boot_bind_missing(const BootMachine *machine, BootReport *report);

/*
 * Waits until all functions of the group that has `bdf` are there, and gives the free ones
 * their override. A rescan of the bus announces one function after another, and binds them when it
 * has found the last. false: not all are there within this time.
 */
bool boot_await_peers(const BootMachine *machine, const BootWishes *wishes, const Bdf *bdf,
		      uint64_t timeout_usec);

/*
 * Binds one function whose override is set to vfio-pci, if no other driver has it. Returns why
 * not, or NULL.
 */
char *boot_probe(int sysfs_fd, const DriverOps *ops, const Bdf *bdf);

size_t boot_report_count(const BootReport *report, BootOutcome outcome);
/* One line: "0000:41:00.0 (pair0): taken: …" */
char *boot_function_text(const BootFunction *function);
/* The whole report, schema org.gpupass1.boot/1. */
char *boot_report_to_json(const BootReport *report);

DECLARE_FREE(BootReport, boot_report_free)
