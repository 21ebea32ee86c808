/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/verify/bandwidth.h"
#include "core/verify/workload-text.h"
#include "util/xalloc.h"

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

/* The place in the report of the program's GPU; SIZE_MAX: it is not the group's. */
static size_t place_of(const VerifyReport *report, const Bandwidth *b, size_t gpu)
{
	/* Without addresses there are only the group's GPUs: see is_matched(). */
	if (!b->addressed)
		return gpu;
	for (size_t i = 0; i < report->n_gpus; i++) {
		const Bdf *address = &report->gpus[i].guest.address;

		if (address->segment == b->gpus[gpu].segment && address->bus == b->gpus[gpu].bus &&
		    address->device == b->gpus[gpu].device)
			return i;
	}
	return SIZE_MAX;
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
		found += place_of(report, b, i) != SIZE_MAX;
	return found == report->n_gpus;
}

/* --- the verdict --- */

static bool is_enough(const Workload *w, uint32_t mbps)
{
	return (uint64_t)mbps * 100 >= (uint64_t)w->nominal_mbps * w->percent;
}

/* Why `mbps` is not enough. */
static WorkloadCause cause_of_speed(const VerifyInput *input, uint32_t mbps)
{
	return mbps <= input->pcie_mbps ? WORKLOAD_PCIE_SPEED : WORKLOAD_BELOW;
}

static void judge_path(const Workload *w, const VerifyInput *input, const BandwidthPath *measured,
		       WorkloadPath *path)
{
	path->mbps = measured->mbps;
	path->verdict = WORKLOAD_SLOW;
	if (measured->no_peer)
		path->cause = WORKLOAD_PCIE_PATH;
	else if (w->nominal_mbps == 0) {
		path->verdict = WORKLOAD_UNKNOWN;
		path->cause = WORKLOAD_NO_EXPECTATION;
	} else if (is_enough(w, measured->mbps)) {
		path->verdict = WORKLOAD_PASS;
		path->cause = WORKLOAD_NOTHING;
	} else if (measured->plain_mbps > 0 &&
		   (uint64_t)measured->mbps * 10 <= (uint64_t)measured->plain_mbps * 11)
		/* Peer-to-peer made it hardly faster than the way by the host's memory. */
		path->cause = WORKLOAD_PCIE_PATH;
	else
		path->cause = cause_of_speed(input, measured->mbps);
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

static void judge_paths(Workload *w, const VerifyInput *input, const VerifyReport *report,
			const Bandwidth *b)
{
	const WorkloadPath *worst;

	w->paths = xcalloc(report->n_gpus * report->n_gpus + 1, sizeof(WorkloadPath));
	for (size_t i = 0; i < b->n_gpus; i++)
		for (size_t k = 0; k < b->n_gpus; k++) {
			WorkloadPath path = { .from = place_of(report, b, i),
					      .to = place_of(report, b, k) };

			if (i == k || path.from == SIZE_MAX || path.to == SIZE_MAX)
				continue;
			judge_path(w, input, &b->paths[i][k], &path);
			w->paths[w->n_paths++] = path;
		}
	worst = worst_path(w);
	w->verdict = worst ? worst->verdict : WORKLOAD_PASS;
	w->cause = worst ? worst->cause : WORKLOAD_NOTHING;
	workload_explain(w, input, report, worst, NULL);
}

static void judge_ring(Workload *w, const VerifyInput *input, const VerifyReport *report,
		       const Bandwidth *b)
{
	w->ring_mbps = b->ring_mbps;
	if (w->nominal_mbps == 0)
		w->cause = WORKLOAD_NO_EXPECTATION;
	else if (is_enough(w, b->ring_mbps)) {
		w->verdict = WORKLOAD_PASS;
		w->cause = WORKLOAD_NOTHING;
	} else {
		w->verdict = WORKLOAD_SLOW;
		w->cause = cause_of_speed(input, b->ring_mbps);
	}
	workload_explain(w, input, report, NULL, NULL);
}

static void judge(Workload *w, const VerifyInput *input, const VerifyReport *report,
		  const Bandwidth *b)
{
	bool ring = b->ring_mbps > 0;
	/* A ring uses the links to all others. */
	size_t peers = ring ? report->n_gpus - 1 : 1;

	w->cause = WORKLOAD_NOTHING;
	w->percent = ring ? MEASURE_REDUCE_PERCENT : MEASURE_COPY_PERCENT;
	w->nominal_mbps = input->link_mbps * input->links_expected * (uint32_t)peers;
	if (ring)
		judge_ring(w, input, report, b);
	else
		judge_paths(w, input, report, b);
}

/* --- what was run --- */

Workload *measure_begin(const VerifyInput *input, const VerifyReport *report)
{
	Workload *w = xcalloc(1, sizeof(Workload));

	w->cause = WORKLOAD_NO_PROGRAM;
	if (report->n_gpus < 2)
		w->cause = WORKLOAD_ONE_GPU;
	if (report->match == VERIFY_MATCH_NONE)
		w->cause = WORKLOAD_NOT_RUN;
	for (size_t i = 0; i < report->n_gpus; i++)
		if (!report->gpus[i].found)
			w->cause = WORKLOAD_NOT_RUN;
	workload_explain(w, input, report, NULL, NULL);
	return w;
}

static WorkloadCause cause_of_outcome(GuestOutcome outcome)
{
	switch (outcome) {
	case GUEST_TIMEOUT:
		return WORKLOAD_TIMEOUT;
	case GUEST_TOO_MUCH:
		return WORKLOAD_TOO_MUCH;
	default:
		return WORKLOAD_BAD_REPLY;
	}
}

/* The better program's failure stays: it is the one to see to. */
static void hear_failure(Workload *w, const VerifyInput *input, const VerifyReport *report,
			 const char *program, WorkloadCause cause, const GuestRun *run)
{
	if (w->program && w->program != program)
		return;
	w->program = program;
	w->cause = cause;
	workload_explain(w, input, report, NULL, run);
}

/*
 * A program that found wrong data ends with an error, or is cut short, and this counts: no other
 * program's pass makes it right.
 */
static void hear_alarm(Workload *w, const VerifyInput *input, const VerifyReport *report,
		       const char *program, WorkloadCause cause, const GuestRun *run,
		       bool *ret_done)
{
	*ret_done = true;
	w->program = program;
	w->verdict = cause == WORKLOAD_WRONG_DATA ? WORKLOAD_WRONG : WORKLOAD_UNKNOWN;
	w->cause = cause;
	workload_explain(w, input, report, NULL, run);
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

static void hear_output(Workload *w, const VerifyInput *input, const VerifyReport *report,
			Program program, const GuestRun *run, bool *ret_done)
{
	_cleanup_free_ Bandwidth *b = xcalloc(1, sizeof(Bandwidth));
	const char *name = programs[program].name;
	int r;

	r = programs[program].parse(run->out ? run->out : "", run->out_size, b);
	if (r == 0 && b->wrong_data) {
		hear_alarm(w, input, report, name, WORKLOAD_WRONG_DATA, run, ret_done);
	} else if (run->signalled || run->exit_code != 0) {
		hear_failure(w, input, report, name, WORKLOAD_FAILED, run);
	} else if (r < 0) {
		hear_failure(w, input, report, name, WORKLOAD_BAD_OUTPUT, run);
	} else if (!is_matched(input, report, b)) {
		hear_failure(w, input, report, name, WORKLOAD_OTHER_GPUS, run);
	} else if (b->unchecked) {
		/* A speed at which nobody looked what arrived is none. */
		hear_failure(w, input, report, name, WORKLOAD_NOT_CHECKED, run);
	} else {
		*ret_done = true;
		w->program = name;
		judge(w, input, report, b);
	}
}

void measure_hear(Workload *w, const VerifyInput *input, const VerifyReport *report, size_t which,
		  const GuestRun *run, bool *ret_done)
{
	Program program = commands[which].program;
	WorkloadCause alarm = cause_of_alarm(run);

	*ret_done = w->verdict == WORKLOAD_WRONG || w->cause == WORKLOAD_GPU_FAULT;
	if (*ret_done)
		return;
	if (alarm != WORKLOAD_NOTHING) {
		hear_alarm(w, input, report, programs[program].name, alarm, run, ret_done);
	} else if (run->outcome == GUEST_RAN) {
		hear_output(w, input, report, program, run, ret_done);
	} else if (run->outcome != GUEST_NOT_STARTED) {
		/* The guest answers no more. One that is not there leaves another one's failure. */
		*ret_done = true;
		w->program = NULL;
		hear_failure(w, input, report, programs[program].name,
			     cause_of_outcome(run->outcome), run);
	}
}
