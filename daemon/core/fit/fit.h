/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a domain fits the GPUs that it is about to get: address space for their BARs, memory to
 * pin, NUMA placement. Pure: its input is a domain's XML, BAR sizes from sysfs and facts about the
 * host; its output is findings. What is not known gives no finding.
 */
#pragma once

#include "core/domain/xml-tune.h"
#include "core/domain/xml.h"
#include "core/pci/gpu.h"
#include "core/pci/host-facts.h"
#include "gpupass/string-table.h"

#define FIT_SEVERITIES(X)                                                                          \
	X(FIT_INFO, "info")	  /* nothing to mend */                                            \
	X(FIT_WARNING, "warning") /* slower than it could be, or may fail */                       \
	X(FIT_ERROR, "error")	  /* it will not work */

DECLARE_ENUM(fit_severity, FitSeverity, FIT_SEVERITIES, FIT_SEVERITY_MAX_);

#define FIT_IDS(X)                                                                                 \
	X(FIT_BAR_WINDOW, "bar-window")		/* the guest's 64-bit window for BARs */           \
	X(FIT_HOTPLUG_WINDOW, "hotplug-window") /* the window of a running guest's port */         \
	X(FIT_SLOW_START, "slow-start")		/* mapping large BARs takes long */                \
	X(FIT_MACHINE_TYPE, "machine-type")                                                        \
	X(FIT_ROOT_PORTS, "root-ports") /* no free one for a hotplug */                            \
	X(FIT_MEMORY, "memory")		/* the guest needs more than the host has */               \
	X(FIT_MEMLOCK, "memlock")	/* <hard_limit> is below what vfio pins */                 \
	X(FIT_HUGEPAGES, "hugepages")	/* too few are free */                                     \
	X(FIT_PINNING, "pinning")	/* the start takes long */                                 \
	X(FIT_VIOMMU, "viommu")                                                                    \
	X(FIT_CLIQUE, "gpudirect-clique")                                                          \
	X(FIT_LAUNCH_SECURITY, "launch-security") /* the guest's memory is encrypted */            \
	X(FIT_NUMA_MEMORY, "numa-memory")	  /* --numa decides on these three */              \
	X(FIT_NUMA_CPUS, "numa-cpus")                                                              \
	X(FIT_NUMA_SPREAD, "numa-spread") /* the GPUs are on several nodes */                      \
	X(FIT_APPLIED, "applied")

DECLARE_ENUM(fit_id, FitId, FIT_IDS, FIT_ID_MAX_);

typedef struct FitFinding {
	FitId id;
	FitSeverity severity;
	char *what;   /* one sentence, without a full stop */
	char *remedy; /* NULL: there is nothing to do */
} FitFinding;

typedef struct FitReport {
	FitFinding *items;
	size_t n_items;
	/* By FitId: why too little is known for a finding; NULL: enough is known. */
	const char *not_known[FIT_ID_MAX_];
} FitReport;
#define FIT_NO_HOST "what this host has could not be read"

/* The input. All pointers are borrowed. */
typedef struct FitFacts {
	const DomainXml *xml;		     /* to judge: as a plan will leave it, or as it is */
	const PciFunction *const *functions; /* of the group */
	size_t n_functions;
	const HostFacts *host; /* NULL: not known */
	bool running;	       /* the guest runs and gets the group by hotplug */
	bool within;	       /* the XML has the group's hostdevs */
	bool started;	       /* the guest runs, and has its memory */
} FitFacts;

DECLARE_FREE(FitReport, fit_report_free)

#define FIT_MODES(X)                                                                               \
	X(FIT_ADVISE, "advise") /* report findings */                                              \
	X(FIT_APPLY, "apply")	/* also write into the definition what helps */                    \
	X(FIT_STRICT, "strict") /* also refuse to assign: warnings, errors */

DECLARE_ENUM(fit_mode, FitMode, FIT_MODES, FIT_MODE_MAX_);

FitReport *fit_check(const FitFacts *facts);
/* What --numa=apply and --fit=apply would write. */
FitTune fit_tune(const FitFacts *facts, bool numa, bool fit);

/* The first warning or error of a kind whose mode is FIT_STRICT; NULL: none. */
const FitFinding *fit_refusal(const FitReport *report, FitMode numa, FitMode fit);

/* Appends a finding. Takes `what`. Copies `remedy`, which may be NULL. */
void fit_add(FitReport *report, FitId id, FitSeverity severity, char *what, const char *remedy);
/* "32 GiB", "512 MiB". */
char *fit_size_text(uint64_t bytes);
