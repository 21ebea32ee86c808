/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI Express tree that a guest sees: by its own sysfs, and by the file that NCCL believes
 * more. Both are the guest's words: bounded, strictly parsed, and of them only addresses and
 * numbers are passed on.
 */
#pragma once

#include "core/pci/pcie-distance.h"
#include "core/verify/guest-agent.h"
#include "util/pcie-speed.h"

#define NCCL_FILE_STATES(X)                                                                        \
	X(NCCL_FILE_UNKNOWN, "unknown") /* the guest was not heard */                              \
	X(NCCL_FILE_NONE, "none")	/* it names none */                                        \
	X(NCCL_FILE_MISSING, "missing") /* it names one that is not there */                       \
	X(NCCL_FILE_UNREADABLE, "unreadable")                                                      \
	X(NCCL_FILE_UNTRUE, "untrue") /* it does not say what the host has */                      \
	X(NCCL_FILE_TRUE, "true")

DECLARE_ENUM(nccl_file_state, NcclFileState, NCCL_FILE_STATES, NCCL_FILE_STATE_MAX_);

typedef struct SightFunction {
	PciFunction function; /* address, class, NUMA node, bridges above: nothing else */
	char *path;	      /* as of DomainHostdev; in the file its busid: NCCL compares texts */
	PcieLink link;	      /* in sysfs the lesser of its own and its port's */
	PcieLink up;	      /* of the port that leads up from its switch */
} SightFunction;

typedef struct Sight {
	SightFunction *items;
	size_t n_items;
	size_t n_nodes; /* NUMA nodes; 0: a kernel without NUMA */
} Sight;
DECLARE_CLEAR(Sight, sight_clear)

typedef struct NcclFile {
	NcclFileState state; /* TRUE where NCCL can read it: nobody has compared it */
	bool sets_level;     /* nccl.conf sets NCCL_NET_GDR_LEVEL */
	bool too_large;	     /* to be looked at */
	Sight sight;
} NcclFile;
DECLARE_CLEAR(NcclFile, nccl_file_clear)

/* Print the functions in sysfs, and NCCL's file. */
enum { SIGHT_RUN_SYSFS, SIGHT_RUN_FILE, SIGHT_RUNS };
extern const char *const *const sight_commands[SIGHT_RUNS];

/* -EBADMSG: it did not run, or something is not understood. */
int sight_read(const GuestRun *run, Sight *ret);
void nccl_file_read(const GuestRun *run, NcclFile *ret);

/* By its path; NULL: there is none. */
const SightFunction *sight_find(const Sight *sight, const char *path);
/* In NCCL's terms, which has PHB for all of one NUMA node, and so for all of none. */
PcieDistance nccl_distance(const PciFunction *a, const PciFunction *b);
