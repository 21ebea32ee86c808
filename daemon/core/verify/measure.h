/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether NVLink is as fast as it should be, from what programs measured in a guest. Pure:
 * job/verify.c runs them. Like the verdict on the links, this is the guest's word: a tenant
 * may replace the programs, and with them only what is said of its own group.
 *
 * What a link carries in practice is less than its nominal rate, and depends on who copies:
 *
 *   copy engines (nvbandwidth, p2pBandwidthLatencyTest): 371 to 377 of 450 GB/s (NCCL issue 1264),
 *     261 of 300 in both directions (cuda-samples issue 392), 276 in the README of nvbandwidth,
 *     which names no board: of 300, if it is A100. 82 to 92 %
 *   all_reduce_perf: about 20 of each link's 25 GB/s, by the packets' headers (NCCL's author in
 *     nccl-tests issue 149); 208 of 300 between two A100 PCIe (nccl-tests issue 178): 69 to 80 %
 *
 * PCIe of the same boards carries at most half of what their links do. The limits below are between
 * the two.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/verify/guest-agent.h"
#include "core/verify/report.h"

#define WORKLOAD_VERDICTS(X)                                                                       \
	X(WORKLOAD_UNKNOWN, "unknown") /* nothing was measured */                                  \
	X(WORKLOAD_PASS, "pass")                                                                   \
	X(WORKLOAD_SLOW, "slow")                                                                   \
	X(WORKLOAD_WRONG, "wrong") /* data arrived wrong */

DECLARE_ENUM(workload_verdict, WorkloadVerdict, WORKLOAD_VERDICTS, WORKLOAD_VERDICT_MAX_);

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

DECLARE_ENUM(workload_cause, WorkloadCause, WORKLOAD_CAUSES, WORKLOAD_CAUSE_MAX_);

/* Copies from one GPU of the group to another. */
typedef struct WorkloadPath {
	Bdf from, to; /* on the host */
	uint32_t mbps;
	WorkloadVerdict verdict;
	WorkloadCause cause;
} WorkloadPath;
DECLARE_JSON(WorkloadPath, workload_path_members)

/* The member "workload" of org.gpupass1.verify/1. */
typedef struct Workload {
	WorkloadVerdict verdict;
	WorkloadCause cause;
	char *reason _json_(or_null); /* one sentence; NULL when it passed */
	char *remedy _json_(or_null);
	/* The one that measured, or the last one that did not; NULL: none. */
	const char *program _json_(or_null);
	uint32_t nominal_mbps; /* of what was measured, in one direction; 0: not known */
	unsigned percent _json_(as "percent_needed"); /* of it that is enough */
	uint32_t ring_mbps; /* all_reduce_perf: bus bandwidth; 0: not measured so */
	WorkloadPath *paths _json_(as "copies", max 4096);
	size_t n_paths;
} Workload;
DECLARE_FREE(Workload, workload_free)
DECLARE_JSON(Workload, workload_members)

#define MEASURE_COPY_PERCENT 75U
#define MEASURE_REDUCE_PERCENT 60U

/* The commands, the best first; the number of GPUs is in the arguments of some. */
#define MEASURE_COMMANDS 7
typedef struct MeasureCommand {
	const char *argv[16];
	char n_gpus[12];
} MeasureCommand;
void measure_command(size_t which, size_t n_gpus, MeasureCommand *ret);

/*
 * Nothing was measured yet. The programs are worth running if the cause is WORKLOAD_NO_PROGRAM;
 * otherwise it says why not.
 */
Workload *measure_begin(const VerifyInput *input, const VerifyReport *report);
/*
 * Takes what became of the command. *ret_done: the other commands are not needed, or would fare no
 * better.
 */
void measure_hear(Workload *w, const VerifyInput *input, const VerifyReport *report, size_t which,
		  const GuestRun *run, bool *ret_done);
