/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether NVLink is as fast as it should be: what measure.h makes of what a guest measured. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

#define WORKLOAD_VERDICTS(X)                                                                       \
	X(WORKLOAD_UNKNOWN, "unknown") /* nothing was measured */                                  \
	X(WORKLOAD_PASS, "pass")                                                                   \
	X(WORKLOAD_SLOW, "slow")                                                                   \
	X(WORKLOAD_WRONG, "wrong") /* data arrived wrong */

typedef enum WorkloadVerdict {
#define X(enumerator, name) enumerator,
	WORKLOAD_VERDICTS(X)
#undef X
		WORKLOAD_VERDICT_MAX_,
} WorkloadVerdict;
DECLARE_STRING_TABLE(workload_verdict, WorkloadVerdict);

#define WORKLOAD_CAUSES(X)                                                                         \
	X(WORKLOAD_NOTHING, "none")                                                                \
	X(WORKLOAD_NOT_RUN, "not-run")	     /* the links could not be looked at */                \
	X(WORKLOAD_ONE_GPU, "one-gpu")	     /* no links to measure */                             \
	X(WORKLOAD_NO_PROGRAM, "no-program") /* the guest has none of them */                      \
	X(WORKLOAD_FAILED, "program-failed")                                                       \
	X(WORKLOAD_TIMEOUT, "timeout")                                                             \
	X(WORKLOAD_TOO_MUCH, "too-much-output")                                                    \
	X(WORKLOAD_BAD_REPLY, "bad-agent-reply")                                                   \
	X(WORKLOAD_BAD_OUTPUT, "bad-output")                                                       \
	X(WORKLOAD_OTHER_GPUS, "other-gpus")   /* which are the group's is not clear */            \
	X(WORKLOAD_NOT_CHECKED, "not-checked") /* nobody looked what arrived */                    \
	X(WORKLOAD_GPU_FAULT, "gpu-fault")     /* an error of memory, of links, or of a GPU */     \
	X(WORKLOAD_NO_EXPECTATION, "board-not-known")                                              \
	X(WORKLOAD_PCIE_PATH, "pcie-path")   /* the copies went by PCIe */                         \
	X(WORKLOAD_PCIE_SPEED, "pcie-speed") /* no faster than PCIe can be */                      \
	X(WORKLOAD_BELOW, "below-threshold")                                                       \
	X(WORKLOAD_WRONG_DATA, "wrong-data")

typedef enum WorkloadCause {
#define X(enumerator, name) enumerator,
	WORKLOAD_CAUSES(X)
#undef X
		WORKLOAD_CAUSE_MAX_,
} WorkloadCause;
DECLARE_STRING_TABLE(workload_cause, WorkloadCause);

/* Copies from one GPU of the group to another. */
typedef struct WorkloadPath {
	size_t from, to; /* in the report's gpus */
	uint32_t mbps;
	WorkloadVerdict verdict;
	WorkloadCause cause;
} WorkloadPath;

typedef struct Workload {
	WorkloadVerdict verdict;
	WorkloadCause cause;
	const char *program; /* the one that measured, or the last one that did not; NULL: none */
	char *reason;	     /* one sentence; NULL when it passed */
	char *remedy;
	uint32_t nominal_mbps; /* of what was measured, in one direction; 0: not known */
	unsigned percent;      /* of it that is enough */
	WorkloadPath *paths;
	size_t n_paths;
	uint32_t ring_mbps; /* all_reduce_perf: bus bandwidth; 0: not measured so */
} Workload;
DECLARE_FREE(Workload, workload_free)
