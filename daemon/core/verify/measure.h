/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether NVLink is as fast as it should be, from what programs measured in a guest. Pure:
 * job/verify-guest.c runs them. Like the verdict on the links, this is the guest's word: a tenant
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

#include "core/verify/guest-agent.h"
#include "core/verify/report.h"
#include "core/verify/workload.h"

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
