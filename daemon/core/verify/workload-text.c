/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/workload-text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* "26.3 of 56.2 GB/s" */
static char *rate_text(uint32_t mbps, uint32_t nominal)
{
	return strf("%u.%u of %u.%u GB/s", mbps / 1000, mbps % 1000 / 100, nominal / 1000,
		    nominal % 1000 / 100);
}

/* `WHAT: exit status 1, "no CUDA-capable device"`. The quoted words are the guest's, cleaned. */
static char *run_text(const char *form, const Workload *w, const GuestRun *run)
{
	_cleanup_free_ char *err = smi_excerpt(run->err ? run->err : "", run->err_size);
	_cleanup_free_ char *out = smi_excerpt(run->out ? run->out : "", run->out_size);
	const char *said;

	said = !*out || (*err && told_of(err) >= told_of(out)) ? err : out;
	return strf("%s%s: %s %lld%s%s%s", w->program, form,
		    run->signalled ? "ended by signal" : "exit status", (long long)run->exit_code,
		    *said ? ", \"" : "", said, *said ? "\"" : "");
}

static char *slow_text(const Workload *w, const VerifyReport *report, const WorkloadPath *path)
{
	_cleanup_free_ char *rate = rate_text(path ? path->mbps : w->ring_mbps, w->nominal_mbps);
	const char *why = w->cause == WORKLOAD_PCIE_PATH ? ": the copies go by PCIe, not by NVLink"
			  : w->cause == WORKLOAD_PCIE_SPEED ? ": no more than PCIe carries"
							    : "";

	if (path && path->mbps == 0)
		return strf(
			"%s did not copy from %s to %s, which do not reach each other's memory%s",
			w->program, BDF_TEXT(&report->gpus[path->from].bdf),
			BDF_TEXT(&report->gpus[path->to].bdf), why);
	if (!path)
		return strf("%s reaches %s, where %u %% would be enough%s", w->program, rate,
			    w->percent, why);
	return strf("%s from %s to %s, where %u %% would be enough%s", rate,
		    BDF_TEXT(&report->gpus[path->from].bdf), BDF_TEXT(&report->gpus[path->to].bdf),
		    w->percent, why);
}

static char *reason_text(const Workload *w, const VerifyInput *in, const VerifyReport *report,
			 const WorkloadPath *path, const GuestRun *run)
{
	switch (w->cause) {
	case WORKLOAD_NOT_RUN:
		return xstrdup("nothing was measured, since the links could not be looked at");
	case WORKLOAD_ONE_GPU:
		return strf("%s is one GPU, which has no link to measure", in->group);
	case WORKLOAD_NO_PROGRAM:
		return xstrdup("the guest has no program that measures: nvbandwidth, "
			       "p2pBandwidthLatencyTest or all_reduce_perf");
	case WORKLOAD_FAILED:
	case WORKLOAD_GPU_FAULT:
		return run_text(" in the guest", w, run);
	case WORKLOAD_TIMEOUT:
		return strf("%s did not end in time, and may still run in the guest", w->program);
	case WORKLOAD_TOO_MUCH:
		return strf("%s in the guest printed more than 64 KiB", w->program);
	case WORKLOAD_BAD_REPLY:
		return strf("the guest agent's reply about %s cannot be used", w->program);
	case WORKLOAD_BAD_OUTPUT:
		return run_text(" in the guest prints what is not understood", w, run);
	case WORKLOAD_OTHER_GPUS:
		return strf("it is not clear which of the GPUs that %s shows are those of %s",
			    w->program, in->group);
	case WORKLOAD_NOT_CHECKED:
		return strf("%s in the guest did not check what arrived (#wrong is N/A)",
			    w->program);
	case WORKLOAD_NO_EXPECTATION:
		return xstrdup("how fast the links of this board should be is not known");
	case WORKLOAD_WRONG_DATA:
		return strf("%s in the guest found that data arrived wrong", w->program);
	default:
		return slow_text(w, report, path);
	}
}

#define SEE_FAULTS                                                                                 \
	"trust nothing that the GPUs of %2$s compute; see in the guest: dmesg | grep -i xid; on "  \
	"the host: gpupass doctor %1$s"
#define LOOK_FOR_WORK                                                                              \
	"look in the guest for other work on the GPUs (nvidia-smi) and for errors of the links "   \
	"(nvidia-smi nvlink -e), then: gpupass verify %1$s --workload"

/* From cause to action, as remedies in text.c. %1$s is the domain, %2$s the group. */
static const char *const remedies[WORKLOAD_CAUSE_MAX_] = {
	[WORKLOAD_NOTHING] = "see the reason above",
	[WORKLOAD_NOT_RUN] = "see the reason above",
	[WORKLOAD_ONE_GPU] = "leave --workload out: gpupass verify %1$s",
	[WORKLOAD_NO_PROGRAM] = "install nvbandwidth in the guest, in the PATH of the guest agent; "
				"see gpupassd(8), WORKLOAD",
	[WORKLOAD_FAILED] = "see in the guest: dmesg | grep -i -e nvrm -e xid; a program for a "
			    "newer CUDA than the driver's has to be built for that",
	[WORKLOAD_TIMEOUT] = "look for work on the GPUs in the guest: nvidia-smi; to wait longer: "
			     "gpupass verify %1$s --workload --timeout=30min",
	[WORKLOAD_TOO_MUCH] = "take NCCL_DEBUG and the like out of the environment of the guest "
			      "agent",
	[WORKLOAD_BAD_REPLY] = "restart qemu-guest-agent in the guest; its log there: "
			       "journalctl -u qemu-guest-agent",
	[WORKLOAD_BAD_OUTPUT] = "install a version that is known: nvbandwidth 0.1 to 0.8; see "
				"gpupassd(8), WORKLOAD",
	[WORKLOAD_OTHER_GPUS] = "install nvbandwidth 0.6 or later, which tells the GPUs' addresses",
	[WORKLOAD_NOT_CHECKED] =
		"install nvbandwidth in the guest, or an all_reduce_perf without a "
		"wrapper that gives it -c 0",
	[WORKLOAD_GPU_FAULT] = SEE_FAULTS,
	[WORKLOAD_NO_EXPECTATION] = "compare the numbers with NVIDIA's data sheet of the board",
	[WORKLOAD_PCIE_PATH] =
		"see in the guest: nvidia-smi topo -p2p n; nvidia-smi conf-compute -f; and look "
		"for NVreg_RegistryDwords among the driver's settings",
	[WORKLOAD_PCIE_SPEED] = LOOK_FOR_WORK,
	[WORKLOAD_BELOW] = LOOK_FOR_WORK,
	[WORKLOAD_WRONG_DATA] = SEE_FAULTS,
};

void workload_explain(Workload *w, const VerifyInput *input, const VerifyReport *report,
		      const WorkloadPath *path, const GuestRun *run)
{
	free(w->reason);
	free(w->remedy);
	w->reason = w->remedy = NULL;
	if (w->verdict == WORKLOAD_PASS)
		return;
	w->reason = reason_text(w, input, report, path, run);
	w->remedy = verify_remedy(remedies[w->cause], input);
}

/* --- JSON --- */

static json_t *path_to_json(const VerifyReport *report, const WorkloadPath *path)
{
	return json_build("{s:s, s:s, s:I, s:s, s:s}", "from",
			  BDF_TEXT(&report->gpus[path->from].bdf), "to",
			  BDF_TEXT(&report->gpus[path->to].bdf), "mbps", (json_int_t)path->mbps,
			  "verdict", workload_verdict_to_string(path->verdict), "cause",
			  workload_cause_to_string(path->cause));
}

json_t *workload_to_json(const Workload *w, const VerifyReport *report)
{
	json_t *copies = json_array();

	for (size_t i = 0; i < w->n_paths; i++)
		json_append(copies, path_to_json(report, &w->paths[i]));
	return json_build("{s:s, s:s, s:o, s:o, s:s?, s:I, s:i, s:I, s:o}", "verdict",
			  workload_verdict_to_string(w->verdict), "cause",
			  workload_cause_to_string(w->cause), "reason",
			  json_string_or_null(w->reason), "remedy", json_string_or_null(w->remedy),
			  "program", w->program, "nominal_mbps", (json_int_t)w->nominal_mbps,
			  "percent_needed", (int)w->percent, "ring_mbps", (json_int_t)w->ring_mbps,
			  "copies", copies);
}
