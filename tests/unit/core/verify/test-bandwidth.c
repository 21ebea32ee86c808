/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs print that measure bandwidth, and what is made of it. */
#include "rig/test.h"

#include <stdlib.h>

#include "core/verify/bandwidth.h"
#include "core/verify/measure.h"
#include "rig/guests.h"
#include "util/json.h"
#include "util/xalloc.h"

#define TOO_LONG (64 * 1024 + 1)

/* The commands of measure.c: the first of each program. */
enum { BY_NVBANDWIDTH = 1, BY_P2P = 3, BY_ALL_REDUCE = 5 };

static char *fixture(const char *name, size_t *ret_size)
{
	_cleanup_free_ char *path = strf("%s/bandwidth/%s", FIXTURES, name);
	char *text = NULL;

	if (file_read_at(AT_FDCWD, path, GUEST_TEXT_MAX, &text, ret_size) < 0)
		fail_msg("no fixture %s", path);
	return text;
}

/* A domain that has this group only, whose GPUs the guest has at 01:00.0, 02:00.0 and so on. */
typedef struct Scene {
	VerifyGpu gpus[8];
	VerifyInput input;
	VerifyReport *report;
} Scene;

static void scene_init(Scene *s, size_t n, unsigned links, uint32_t link_mbps, uint32_t pcie_mbps)
{
	*s = (Scene){ 0 };
	s->input = (VerifyInput){
		.domain = "vm42",
		.group = "pair0",
		.gpus = s->gpus,
		.n_gpus = n,
		.n_group = n,
		.links_expected = links,
		.link_mbps = link_mbps,
		.pcie_mbps = pcie_mbps,
	};
	for (size_t i = 0; i < n; i++)
		s->gpus[i].bdf = (Bdf){ .bus = (uint8_t)(0x41 + i) };
	s->report = verify_give_up(&s->input, VERIFY_NOTHING);
	s->report->match = VERIFY_MATCH_UUID;
	for (size_t i = 0; i < n; i++) {
		s->report->gpus[i].found = true;
		s->report->gpus[i].guest.address = (Bdf){ .bus = (uint8_t)(i + 1) };
	}
}

static void scene_clear(Scene *s)
{
	verify_report_free(s->report);
}

#define RAN(text, size)                                                                            \
	(GuestRun)                                                                                 \
	{                                                                                          \
		.outcome = GUEST_RAN, .out = (text), .out_size = (size)                            \
	}

/* What is said of one run of the command. */
static Workload *hear(Scene *s, size_t which, const GuestRun *run, bool *ret_done)
{
	Workload *w = NULL;

	w = measure_begin(&s->input, s->report);
	assert_int_equal(w->cause, WORKLOAD_NO_PROGRAM);
	measure_hear(w, &s->input, s->report, which, run, ret_done);
	return w;
}

typedef struct Row {
	const char *fixture;
	size_t which;
	size_t n_gpus;
	unsigned links;
	uint32_t link_mbps, pcie_mbps;
	const char *verdict; /* and cause */
	const char *words;
} Row;

static void check_row(const Row *row)
{
	_cleanup_(workload_freep) Workload *w = NULL;
	_cleanup_free_ char *text = NULL, *is = NULL;
	size_t size = 0;
	bool done;
	_cleanup_(scene_clear) Scene s;

	text = fixture(row->fixture, &size);
	scene_init(&s, row->n_gpus, row->links, row->link_mbps, row->pcie_mbps);
	w = hear(&s, row->which, &RAN(text, size), &done);
	is = strf("%s, %s", workload_verdict_to_string(w->verdict),
		  workload_cause_to_string(w->cause));
	if (!str_equal(is, row->verdict) || !strstr(str_or_empty(w->reason), row->words))
		fail_msg("%s: %s: \"%s\" lacks \"%s\"", row->fixture, is, str_or_empty(w->reason),
			 row->words);
	assert_true(done ==
		    (w->verdict != WORKLOAD_UNKNOWN || w->cause == WORKLOAD_NO_EXPECTATION));
}

/* NV4 of an RTX A6000, NV12 of A100 and H100 PCIe, NV2 of an RTX 2080 Ti */
#define A6000 4, 14062, 31508
#define A100 12, 25000, 31508
#define H100 12, 25000, 63015
#define TURING 2, 25000, 15754

TEST(a_measure_is_held_against_the_links)
{
	static const Row rows[] = {
		{ "nvbandwidth-a6000", BY_NVBANDWIDTH, 2, A6000, "pass, none", "" },
		{ "nvbandwidth-json", BY_NVBANDWIDTH, 2, A100, "pass, none", "" },
		{ "nvbandwidth-pcie", BY_NVBANDWIDTH, 6, A6000, "slow, pcie-speed",
		  "21.8 of 56.2 GB/s from 0000:41:00.0 to 0000:46:00.0, where 75 % would be "
		  "enough: no more than PCIe carries" },
		{ "nvbandwidth-waived", BY_NVBANDWIDTH, 2, TURING, "slow, pcie-path",
		  "the copies go by PCIe, not by NVLink" },
		{ "nvbandwidth-wrong-data", BY_NVBANDWIDTH, 8, A100, "wrong, wrong-data",
		  "data arrived wrong" },
		{ "p2p-a6000", BY_P2P, 2, A6000, "pass, none", "" },
		{ "p2p-a6000", BY_P2P, 2, H100, "slow, pcie-speed", "52.7 of 300.0 GB/s" },
		{ "p2p-a6000", BY_P2P, 2, A100, "slow, below-threshold", "52.7 of 300.0 GB/s" },
		{ "p2p-pcie", BY_P2P, 6, A6000, "slow, pcie-path", "9.6 of 56.2 GB/s" },
		{ "p2p-no-peer", BY_P2P, 2, A6000, "slow, pcie-path", "8.5 of 56.2" },
		{ "all-reduce-a100-pcie", BY_ALL_REDUCE, 2, A100, "pass, none", "" },
		{ "all-reduce-h100-pcie", BY_ALL_REDUCE, 2, H100, "slow, below-threshold",
		  "all_reduce_perf reaches 115.9 of 300.0 GB/s, where 60 % would be enough" },
		{ "all-reduce-2080ti", BY_ALL_REDUCE, 2, TURING, "slow, below-threshold",
		  "21.8 of 50.0 GB/s" },
		{ "all-reduce-wrong", BY_ALL_REDUCE, 2, A100, "wrong, wrong-data",
		  "data arrived wrong" },
		/* Of a board that nobody knows there is nothing to hold it against. */
		{ "nvbandwidth-a6000", BY_NVBANDWIDTH, 2, 4, 0, 0, "unknown, board-not-known",
		  "not known" },
		/* Six GPUs of a domain that has two; two of one that has four. */
		{ "nvbandwidth-pcie", BY_NVBANDWIDTH, 7, A6000, "unknown, other-gpus",
		  "not clear which" },
		{ "all-reduce-a100-pcie", BY_ALL_REDUCE, 4, A100, "unknown, other-gpus",
		  "not clear which" },
		/* One program's output from another. */
		{ "p2p-a6000", BY_NVBANDWIDTH, 2, A6000, "unknown, bad-output", "not understood" },
		{ "nvbandwidth-a6000", BY_P2P, 2, A6000, "unknown, bad-output", "not understood" },
		{ "nvbandwidth-a6000", BY_ALL_REDUCE, 2, A6000, "unknown, bad-output",
		  "not understood" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		check_row(&rows[i]);
}

/* The GPUs of a program are numbered as CUDA does; their addresses tell which is which. */
TEST(addresses_tell_which_gpu_is_which)
{
	_cleanup_(workload_freep) Workload *w = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	bool done;
	_cleanup_(scene_clear) Scene s;

	text = fixture("nvbandwidth-json", &size);
	scene_init(&s, 2, A100);
	s.report->gpus[0].guest.address = (Bdf){ .bus = 2 };
	s.report->gpus[1].guest.address = (Bdf){ .bus = 1 };
	w = hear(&s, 0, &RAN(text, size), &done);
	assert_int_equal(w->n_paths, 2);
	/* Row 0, column 1: from the GPU at 01:00.0, which is the group's second. */
	assert_true(bdf_equal(&w->paths[0].from, &s.report->gpus[1].bdf));
	assert_true(bdf_equal(&w->paths[0].to, &s.report->gpus[0].bdf));
	assert_int_equal(w->paths[0].mbps, 276070);
	assert_int_equal(w->paths[1].mbps, 276190);
}

/* One direction that is slow makes the pair slow. */
TEST(one_slow_direction_is_enough)
{
	static const char text[] = "Device 0: A (00000000:01:00)\nDevice 1: A (00000000:02:00)\n"
				   "Running device_to_device_memcpy_read_ce.\n"
				   "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
				   "           0         1\n"
				   " 0       N/A     42.19\n"
				   " 1     %s       N/A\n";
	static const struct {
		const char *rate;
		WorkloadVerdict verdict;
	} rows[] = { { "42.186", WORKLOAD_PASS }, { "42.185", WORKLOAD_SLOW } };
	_cleanup_(scene_clear) Scene s;

	scene_init(&s, 2, A6000); /* 75 % of 56.248 GB/s are 42.186 */
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(workload_freep) Workload *w = NULL;
		const char *at = strstr(text, "%s");
		_cleanup_free_ char *whole =
			strf("%.*s%s%s", (int)(at - text), text, rows[i].rate, at + 2);
		bool done;

		w = hear(&s, 0, &RAN(whole, strlen(whole)), &done);
		if (w->verdict != rows[i].verdict)
			fail_msg("%s: %s", rows[i].rate, str_or_empty(w->reason));
	}
}

TEST(what_a_program_fails_of_is_told)
{
	static const struct {
		GuestRun run;
		WorkloadCause cause;
		bool done;
		const char *words;
	} rows[] = {
		{ { .outcome = GUEST_NOT_STARTED }, WORKLOAD_NO_PROGRAM, false, "no program" },
		{ { .outcome = GUEST_TIMEOUT }, WORKLOAD_TIMEOUT, true, "may still run" },
		{ { .outcome = GUEST_TOO_MUCH }, WORKLOAD_TOO_MUCH, true, "64 KiB" },
		{ { .outcome = GUEST_GARBLED }, WORKLOAD_BAD_REPLY, true, "cannot be used" },
		{ { .outcome = GUEST_RAN,
		    .exit_code = 1,
		    .err = (char *)"out of\033[1m memory\n",
		    .err_size = 19 },
		  WORKLOAD_FAILED,
		  false,
		  "nvbandwidth in the guest: exit status 1, \"out of [1m memory\"" },
		{ { .outcome = GUEST_RAN, .signalled = true, .exit_code = 9 },
		  WORKLOAD_FAILED,
		  false,
		  "ended by signal 9" },
		{ { .outcome = GUEST_RAN }, WORKLOAD_BAD_OUTPUT, false, "not understood" },
	};
	_cleanup_(scene_clear) Scene s;

	scene_init(&s, 2, A6000);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(workload_freep) Workload *w = NULL;
		bool done = !rows[i].done;

		w = hear(&s, 0, &rows[i].run, &done);
		assert_int_equal(w->verdict, WORKLOAD_UNKNOWN);
		assert_int_equal(w->cause, rows[i].cause);
		assert_int_equal(done, rows[i].done);
		if (!strstr(w->reason, rows[i].words))
			fail_msg("\"%s\" lacks \"%s\"", w->reason, rows[i].words);
		assert_non_null(w->remedy);
	}
}

/* field: guest/35 */
TEST(wrong_data_in_too_much_output_is_heard)
{
	static char text[] = " Invalid value when checking the pattern at 0x70a640000000\n";
	const GuestRun run = { .outcome = GUEST_TOO_MUCH,
			       .out = text,
			       .out_size = sizeof(text) - 1 };
	_cleanup_(workload_freep) Workload *w = NULL;
	bool done = false;
	_cleanup_(scene_clear) Scene s;

	scene_init(&s, 2, A6000);
	w = hear(&s, 0, &run, &done);
	assert_true(done);
	assert_int_equal(w->verdict, WORKLOAD_WRONG);
}

/* The operator is told of the program that is worth mending, until another one has measured. */
TEST(the_better_programs_failure_stays)
{
	const GuestRun failed = { .outcome = GUEST_RAN, .exit_code = 1 };
	_cleanup_(workload_freep) Workload *w = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	bool done;
	_cleanup_(scene_clear) Scene s;

	text = fixture("p2p-a6000", &size);
	scene_init(&s, 2, A6000);
	w = hear(&s, BY_NVBANDWIDTH, &failed, &done);
	measure_hear(w, &s.input, s.report, BY_ALL_REDUCE, &failed, &done);
	assert_string_equal(w->program, "nvbandwidth");
	measure_hear(w, &s.input, s.report, BY_P2P, &RAN(text, size), &done);
	assert_true(done);
	assert_int_equal(w->verdict, WORKLOAD_PASS);
	assert_string_equal(w->program, "p2pBandwidthLatencyTest");
	assert_null(w->reason);
}

TEST(nothing_is_run_where_the_links_are_not_known)
{
	_cleanup_(workload_freep) Workload *unseen = NULL, *single = NULL;
	Scene s, one;

	scene_init(&s, 2, A6000);
	s.report->gpus[1].found = false;
	unseen = measure_begin(&s.input, s.report);
	assert_int_equal(unseen->cause, WORKLOAD_NOT_RUN);
	scene_clear(&s);
	scene_init(&one, 1, 0, 0, 31508);
	single = measure_begin(&one.input, one.report);
	assert_int_equal(single->cause, WORKLOAD_ONE_GPU);
	scene_clear(&one);
}

/* promise G9 */
/* Whatever is cut off, changed or doubled in a real output never passes for one. */
TEST(damaged_output_is_refused)
{
	static const struct {
		const char *fixture, *from, *to;
		int (*parse)(const char *text, size_t size, Bandwidth *ret);
	} rows[] = {
		{ "nvbandwidth-a6000", "52.79", "-52.79", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", "52.79", "5e9", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", "52.79", "100000.00", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", "Device 1:", "Device 2:", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", ":02:00)", ":01:00)", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", ":02:00)", ":zz:00)", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", "GPU(row) ->", "CPU(row) ->", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", "read_ce.", "", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-a6000", "\n 1 ", "\n 0 ", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-json", "\"276.07\"", "276.07", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-json", "\"Passed\"", "\"Error\"", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-json", "\"276.19\",", "", bandwidth_parse_nvbandwidth },
		{ "nvbandwidth-json", "\"testcases\"", "\"tests\"", bandwidth_parse_nvbandwidth },
		{ "p2p-a6000", "pciBusID: 2", "pciBusID: 100", bandwidth_parse_p2p },
		{ "p2p-a6000", "Device=0 CAN ", "Device=0 MAY ", bandwidth_parse_p2p },
		{ "p2p-a6000", "Peer Device=1", "Peer Device=7", bandwidth_parse_p2p },
		{ "p2p-a6000", "P2P=Enabled Bandwidth (P2P Writes)", "x", bandwidth_parse_p2p },
		{ "p2p-a6000", "Bidirectional P2P=Disabled", "Unidirectional P2P=Disabled",
		  bandwidth_parse_p2p },
		{ "p2p-a6000", "D\\D     0      1", "D\\D     1      0", bandwidth_parse_p2p },
		{ "all-reduce-a100-pcie", "208.00", "two", bandwidth_parse_all_reduce },
		{ "all-reduce-a100-pcie", "#  Rank  1", "#  Rank  2", bandwidth_parse_all_reduce },
		{ "all-reduce-a100-pcie", "float", "float float", bandwidth_parse_all_reduce },
		{ "all-reduce-a100-pcie", "sum", "s\001m", bandwidth_parse_all_reduce },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = fixture(rows[i].fixture, NULL);
		_cleanup_free_ char *damaged = NULL;
		static const Bandwidth nothing;
		Bandwidth b = { 0 };
		char *at = strstr(text, rows[i].from);

		if (!at) {
			fail_msg("row %zu: no \"%s\"", i, rows[i].from);
			return;
		}
		assert_int_equal(rows[i].parse(text, strlen(text), &b), 0);
		b = nothing;
		*at = '\0';
		damaged = strf("%s%s%s", text, rows[i].to, at + strlen(rows[i].from));
		if (rows[i].parse(damaged, strlen(damaged), &b) != -EBADMSG)
			fail_msg("row %zu: \"%s\" was taken", i, rows[i].to);
		assert_memory_equal(&b, &nothing, sizeof(b));
	}
}

TEST(too_much_output_is_refused)
{
	_cleanup_free_ char *text = xcalloc(1, TOO_LONG);
	Bandwidth b;

	memset(text, ' ', TOO_LONG);
	assert_int_equal(bandwidth_parse_nvbandwidth(text, TOO_LONG, &b), -EFBIG);
	assert_int_equal(bandwidth_parse_p2p(text, TOO_LONG, &b), -EFBIG);
	assert_int_equal(bandwidth_parse_all_reduce(text, TOO_LONG, &b), -EFBIG);
}

TEST(the_number_of_gpus_is_in_the_command)
{
	MeasureCommand command;
	size_t n = 0;

	for (size_t i = 0; i < MEASURE_COMMANDS; i++) {
		measure_command(i, 4, &command);
		for (n = 0; command.argv[n]; n++)
			assert_true(n + 1 < ELEMENTS(command.argv));
		assert_true(n > 0);
	}
	assert_string_equal(command.argv[n - 1], "4");
	assert_string_equal(command.argv[n - 2], "-g");
}
