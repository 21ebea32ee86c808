/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/measure.h"

#include "core/verify/bandwidth.h"
#include "util/text.h"
#include "util/xalloc.h"

#include "measure.inc"

/* "26.3 of 56.2 GB/s" */
static char *rate_text(uint32_t mbps, uint32_t nominal)
{
	return strf("%u.%u of %u.%u GB/s", mbps / 1000, mbps % 1000 / 100, nominal / 1000,
		    nominal % 1000 / 100);
}

/* `exit status 1, "no CUDA-capable device"`. The quoted words are the guest's, cleaned. */
static char *run_text(const GuestRun *run)
{
	_cleanup_free_ char *err = smi_excerpt(run->err, run->err_size);
	_cleanup_free_ char *out = smi_excerpt(run->out, run->out_size);
	const char *said = !*out || (*err && told_of(err) >= told_of(out)) ? err : out;

	return strf("%s %lld%s%s%s", run->signalled ? "ended by signal" : "exit status",
		    (long long)run->exit_code, *said ? ", \"" : "", said, *said ? "\"" : "");
}

static char *slow_text(const Workload *w, const WorkloadPath *path)
{
	_cleanup_free_ char *rate = rate_text(path ? path->mbps : w->ring_mbps, w->nominal_mbps);
	const char *why = w->cause == WORKLOAD_PCIE_PATH ? ": the copies go by PCIe, not by NVLink"
			  : w->cause == WORKLOAD_PCIE_SPEED ? ": no more than PCIe carries"
							    : "";

	if (path && path->mbps == 0)
		return strf(
			"%s did not copy from %s to %s, which do not reach each other's memory%s",
			w->program, BDF_TEXT(&path->from), BDF_TEXT(&path->to), why);
	if (!path)
		return strf("%s reaches %s, where %u %% would be enough%s", w->program, rate,
			    w->percent, why);
	return strf("%s from %s to %s, where %u %% would be enough%s", rate, BDF_TEXT(&path->from),
		    BDF_TEXT(&path->to), w->percent, why);
}

#define SEE_FAULTS                                                                                 \
	"trust nothing that the GPUs of %2$s compute; see in the guest: dmesg | grep -i xid; on "  \
	"the host: gpupass doctor %1$s"
#define LOOK_FOR_WORK                                                                              \
	"look in the guest for other work on the GPUs (nvidia-smi) and for errors of the links "   \
	"(nvidia-smi nvlink -e), then: gpupass verify %1$s --workload"

/* As texts of report.c; %4$s is the program, %5$s what became of it. */
static const struct {
	const char *reason; /* NULL: slow_text() */
	const char *remedy;
} texts[WORKLOAD_CAUSE_MAX_] = {
	[WORKLOAD_NOTHING] = { NULL, "see the reason above" },
	[WORKLOAD_NOT_RUN] = { "nothing was measured, since the links could not be looked at",
			       "see the reason above" },
	[WORKLOAD_ONE_GPU] = { "%2$s is one GPU, which has no link to measure",
			       "leave --workload out: gpupass verify %1$s" },
	[WORKLOAD_NO_PROGRAM] = { "the guest has no program that measures: nvbandwidth, "
				  "p2pBandwidthLatencyTest or all_reduce_perf",
				  "install nvbandwidth in the guest, in the PATH of the guest "
				  "agent; see gpupass(1), WORKLOAD" },
	[WORKLOAD_FAILED] = { "%4$s in the guest: %5$s",
			      "see in the guest: dmesg | grep -i -e nvrm -e xid; a program for a "
			      "newer CUDA than the driver's has to be built for that" },
	[WORKLOAD_TIMEOUT] = { "%4$s did not end in time, and may still run in the guest",
			       "look for work on the GPUs in the guest: nvidia-smi; to wait "
			       "longer: gpupass verify %1$s --workload --timeout=30min" },
	[WORKLOAD_TOO_MUCH] = { "%4$s in the guest printed more than 64 KiB",
				"take NCCL_DEBUG and the like out of the environment of the guest "
				"agent" },
	[WORKLOAD_BAD_REPLY] = { "the guest agent's reply about %4$s cannot be used",
				 "restart qemu-guest-agent in the guest; its log there: "
				 "journalctl -u qemu-guest-agent" },
	[WORKLOAD_BAD_OUTPUT] = { "%4$s in the guest prints what is not understood: %5$s",
				  "install a version that is known: nvbandwidth 0.1 to 0.8; see "
				  "gpupass(1), WORKLOAD" },
	[WORKLOAD_OTHER_GPUS] = { "it is not clear which of the GPUs that %4$s shows are those "
				  "of %2$s",
				  "install nvbandwidth 0.6 or later, which tells the GPUs' "
				  "addresses" },
	[WORKLOAD_NOT_CHECKED] = { "%4$s in the guest did not check what arrived (#wrong is N/A)",
				   "install nvbandwidth in the guest, or an all_reduce_perf "
				   "without a wrapper that gives it -c 0" },
	[WORKLOAD_GPU_FAULT] = { "%4$s in the guest: %5$s", SEE_FAULTS },
	[WORKLOAD_NO_EXPECTATION] = { "how fast the links of this board should be is not known",
				      "compare the numbers with NVIDIA's data sheet of the "
				      "board" },
	[WORKLOAD_PCIE_PATH] = { NULL,
				 "see in the guest: nvidia-smi topo -p2p n; nvidia-smi "
				 "conf-compute -f; and look for NVreg_RegistryDwords among the "
				 "driver's settings" },
	[WORKLOAD_PCIE_SPEED] = { NULL, LOOK_FOR_WORK },
	[WORKLOAD_BELOW] = { NULL, LOOK_FOR_WORK },
	[WORKLOAD_WRONG_DATA] = { "%4$s in the guest found that data arrived wrong", SEE_FAULTS },
};

/* What a workload is judged by. */
typedef struct Measure {
	Workload *w;
	const VerifyInput *input;
	const VerifyReport *report;
	const char *program; /* that was run; NULL: none */
	const GuestRun *run; /* what became of it */
} Measure;

/* The verdict, with its reason and remedy. `path` (may be NULL): the slowest one. */
static void settle(const Measure *m, WorkloadVerdict verdict, WorkloadCause cause,
		   const WorkloadPath *path)
{
	Workload *w = m->w;
	const char *form = texts[cause].reason;
	_cleanup_free_ char *run = m->run ? run_text(m->run) : NULL;

	w->verdict = verdict;
	w->cause = cause;
	w->program = m->program;
	free(w->reason);
	free(w->remedy);
	w->reason = w->remedy = NULL;
	if (verdict == WORKLOAD_PASS)
		return;
	w->reason = form ? verify_fill(form, m->input, str_or_empty(m->program), str_or_empty(run))
			 : slow_text(w, path);
	w->remedy = verify_fill(texts[cause].remedy, m->input, "", "");
}

typedef enum Program { NVBANDWIDTH, P2P_TEST, ALL_REDUCE } Program;

#define COPY_TEST "-t", "device_to_device_memcpy_read_ce"
/* One GB is where the bandwidth stops growing, and three of them fit any board with NVLink. */
#define REDUCE_SIZES "-b", "256M", "-e", "1G", "-f", "2", "-g"

/*
 * A bare name is looked for in the agent's PATH. nvbandwidth measures each direction, and checks
 * what arrived; it has known -j since version 0.5. The samples have no other known place than the
 * one that CUDA's own packages built them in.
 */
static const struct {
	const char *argv[12];
	Program program;
	bool count; /* the number of GPUs is the last argument */
} commands[MEASURE_COMMANDS] = {
	{ { "nvbandwidth", "-j", COPY_TEST }, NVBANDWIDTH, false },
	{ { "nvbandwidth", COPY_TEST }, NVBANDWIDTH, false },
	{ { "/opt/nvbandwidth/nvbandwidth", COPY_TEST }, NVBANDWIDTH, false },
	{ { "p2pBandwidthLatencyTest" }, P2P_TEST, false },
	{ { "/usr/local/cuda/samples/bin/x86_64/linux/release/p2pBandwidthLatencyTest" },
	  P2P_TEST,
	  false },
	{ { "all_reduce_perf", REDUCE_SIZES }, ALL_REDUCE, true },
	{ { "/opt/nccl-tests/build/all_reduce_perf", REDUCE_SIZES }, ALL_REDUCE, true },
};

static const struct {
	const char *name;
	int (*parse)(const char *text, size_t size, Bandwidth *ret);
} programs[] = {
	[NVBANDWIDTH] = { "nvbandwidth", bandwidth_parse_nvbandwidth },
	[P2P_TEST] = { "p2pBandwidthLatencyTest", bandwidth_parse_p2p },
	[ALL_REDUCE] = { "all_reduce_perf", bandwidth_parse_all_reduce },
};

void measure_command(size_t which, size_t n_gpus, MeasureCommand *ret)
{
	size_t n = 0;

	*ret = (MeasureCommand){ 0 };
	for (; commands[which].argv[n]; n++)
		ret->argv[n] = commands[which].argv[n];
	if (!commands[which].count)
		return;
	snprintf(ret->n_gpus, sizeof(ret->n_gpus), "%zu", n_gpus);
	ret->argv[n] = ret->n_gpus;
}

/* --- which GPU is which --- */

/* The program's GPU in the report; NULL: it is not the group's. */
static const VerifiedGpu *reported(const VerifyReport *report, const Bandwidth *b, size_t gpu)
{
	const Bdf *address = &b->gpus[gpu];

	/* Without addresses there are only the group's GPUs: see is_matched(). */
	if (!b->addressed)
		return &report->gpus[gpu];
	return FIND(report->gpus, report->n_gpus,
		    it->guest.address.segment == address->segment &&
			    it->guest.address.bus == address->bus &&
			    it->guest.address.device == address->device);
}

/*
 * Programs number GPUs as CUDA does, the fastest first, and not as nvidia-smi. So addresses tell
 * which is which. Without them two GPUs are enough: both directions must be fast.
 */
static bool is_matched(const VerifyInput *input, const VerifyReport *report, const Bandwidth *b)
{
	size_t found = 0;

	if (!b->addressed)
		return b->n_gpus == report->n_gpus && b->n_gpus == input->n_gpus &&
		       (b->n_gpus == 2 || b->ring_mbps > 0);
	for (size_t i = 0; i < b->n_gpus; i++)
		found += reported(report, b, i) != NULL;
	return found == report->n_gpus;
}

/* --- the verdict --- */

static bool is_enough(const Workload *w, uint32_t mbps)
{
	return (uint64_t)mbps * 100 >= (uint64_t)w->nominal_mbps * w->percent;
}

/* Why `mbps` is not enough; NOTHING: it is. */
static WorkloadCause cause_of_speed(const Measure *m, uint32_t mbps)
{
	if (m->w->nominal_mbps == 0)
		return WORKLOAD_NO_EXPECTATION;
	if (is_enough(m->w, mbps))
		return WORKLOAD_NOTHING;
	return mbps <= m->input->pcie_mbps ? WORKLOAD_PCIE_SPEED : WORKLOAD_BELOW;
}

static WorkloadVerdict verdict_of(WorkloadCause cause)
{
	return cause == WORKLOAD_NOTHING	  ? WORKLOAD_PASS
	       : cause == WORKLOAD_NO_EXPECTATION ? WORKLOAD_UNKNOWN
						  : WORKLOAD_SLOW;
}

static void judge_path(const Measure *m, const BandwidthPath *measured, WorkloadPath *path)
{
	path->mbps = measured->mbps;
	path->cause = measured->no_peer ? WORKLOAD_PCIE_PATH : cause_of_speed(m, measured->mbps);
	/* Peer-to-peer made it hardly faster than the way by the host's memory. */
	if (verdict_of(path->cause) == WORKLOAD_SLOW && measured->plain_mbps > 0 &&
	    (uint64_t)measured->mbps * 10 <= (uint64_t)measured->plain_mbps * 11)
		path->cause = WORKLOAD_PCIE_PATH;
	path->verdict = verdict_of(path->cause);
}

/* The slowest one that did not pass; NULL: all passed. */
static const WorkloadPath *worst_path(const Workload *w)
{
	const WorkloadPath *worst = NULL;

	for (size_t i = 0; i < w->n_paths; i++)
		if (w->paths[i].verdict != WORKLOAD_PASS &&
		    (!worst || w->paths[i].mbps < worst->mbps))
			worst = &w->paths[i];
	return worst;
}

static void judge_paths(const Measure *m, const Bandwidth *b)
{
	size_t n = m->report->n_gpus;
	const WorkloadPath *worst;

	m->w->paths = xcalloc(n * n + 1, sizeof(WorkloadPath));
	for (size_t i = 0; i < b->n_gpus; i++)
		for (size_t k = 0; k < b->n_gpus; k++) {
			const VerifiedGpu *from = reported(m->report, b, i);
			const VerifiedGpu *to = reported(m->report, b, k);
			WorkloadPath path;

			if (i == k || !from || !to)
				continue;
			path = (WorkloadPath){ .from = from->bdf, .to = to->bdf };
			judge_path(m, &b->paths[i][k], &path);
			m->w->paths[m->w->n_paths++] = path;
		}
	worst = worst_path(m->w);
	settle(m, worst ? worst->verdict : WORKLOAD_PASS, worst ? worst->cause : WORKLOAD_NOTHING,
	       worst);
}

static void judge(const Measure *m, const Bandwidth *b)
{
	bool ring = b->ring_mbps > 0;
	/* A ring uses the links to all others. */
	size_t peers = ring ? m->report->n_gpus - 1 : 1;
	WorkloadCause cause;

	m->w->percent = ring ? MEASURE_REDUCE_PERCENT : MEASURE_COPY_PERCENT;
	m->w->nominal_mbps = m->input->link_mbps * m->input->links_expected * (uint32_t)peers;
	m->w->ring_mbps = b->ring_mbps;
	if (!ring) {
		judge_paths(m, b);
		return;
	}
	cause = cause_of_speed(m, b->ring_mbps);
	settle(m, verdict_of(cause), cause, NULL);
}

/* --- what was run --- */

Workload *measure_begin(const VerifyInput *input, const VerifyReport *report)
{
	const Measure m = { .w = xcalloc(1, sizeof(Workload)), .input = input, .report = report };
	WorkloadCause cause = WORKLOAD_NO_PROGRAM;

	if (report->n_gpus < 2)
		cause = WORKLOAD_ONE_GPU;
	if (report->match == VERIFY_MATCH_NONE)
		cause = WORKLOAD_NOT_RUN;
	for (size_t i = 0; i < report->n_gpus; i++)
		if (!report->gpus[i].found)
			cause = WORKLOAD_NOT_RUN;
	settle(&m, WORKLOAD_UNKNOWN, cause, NULL);
	return m.w;
}

/*
 * A program that found wrong data ends with an error, or is cut short, and this counts: no other
 * program's pass makes it right.
 */
static void hear_alarm(const Measure *m, WorkloadCause cause)
{
	settle(m, cause == WORKLOAD_WRONG_DATA ? WORKLOAD_WRONG : WORKLOAD_UNKNOWN, cause, NULL);
}

static WorkloadCause cause_of_alarm(const GuestRun *run)
{
	SmiAlarms alarms = { 0 };
	WorkloadCause cause = WORKLOAD_NOTHING;

	alarms_read(run->out, run->out_size, &alarms);
	alarms_read(run->err, run->err_size, &alarms);
	for (size_t i = 0; i < alarms.n_items && cause != WORKLOAD_WRONG_DATA; i++)
		cause = alarms.items[i].told == TOLD_WRONG_DATA ? WORKLOAD_WRONG_DATA
								: WORKLOAD_GPU_FAULT;
	return cause;
}

/* Why what the program printed is no measure; NOTHING: it is one. */
static WorkloadCause failure_of(const Measure *m, int parsed, const Bandwidth *b)
{
	if (m->run->signalled || m->run->exit_code != 0)
		return WORKLOAD_FAILED;
	if (parsed < 0)
		return WORKLOAD_BAD_OUTPUT;
	if (!is_matched(m->input, m->report, b))
		return WORKLOAD_OTHER_GPUS;
	/* A speed at which nobody looked what arrived is none. */
	return b->unchecked ? WORKLOAD_NOT_CHECKED : WORKLOAD_NOTHING;
}

/* True: the other programs are not needed. */
static bool hear_output(const Measure *m, Program program)
{
	_cleanup_free_ Bandwidth *b = xcalloc(1, sizeof(Bandwidth));
	int r = programs[program].parse(str_or_empty(m->run->out), m->run->out_size, b);
	WorkloadCause cause = failure_of(m, r, b);

	if (r == 0 && b->wrong_data)
		hear_alarm(m, WORKLOAD_WRONG_DATA);
	else if (cause == WORKLOAD_NOTHING)
		judge(m, b);
	/* The better program's failure stays: it is the one to see to. */
	else if (!m->w->program || m->w->program == m->program)
		settle(m, WORKLOAD_UNKNOWN, cause, NULL);
	return cause == WORKLOAD_NOTHING || (r == 0 && b->wrong_data);
}

void measure_hear(Workload *w, const VerifyInput *input, const VerifyReport *report, size_t which,
		  const GuestRun *run, bool *ret_done)
{
	Program program = commands[which].program;
	const Measure m = { w, input, report, programs[program].name, run };
	WorkloadCause alarm = cause_of_alarm(run);

	*ret_done = true;
	if (w->verdict == WORKLOAD_WRONG || w->cause == WORKLOAD_GPU_FAULT)
		return;
	if (alarm != WORKLOAD_NOTHING) {
		hear_alarm(&m, alarm);
	} else if (run->outcome == GUEST_RAN) {
		*ret_done = hear_output(&m, program);
	} else if (run->outcome == GUEST_NOT_STARTED) {
		*ret_done = false; /* one that is not there leaves another one's failure */
	} else {
		/* The guest answers no more. */
		settle(&m, WORKLOAD_UNKNOWN,
		       run->outcome == GUEST_TIMEOUT	? WORKLOAD_TIMEOUT
		       : run->outcome == GUEST_TOO_MUCH ? WORKLOAD_TOO_MUCH
							: WORKLOAD_BAD_REPLY,
		       NULL);
	}
}
