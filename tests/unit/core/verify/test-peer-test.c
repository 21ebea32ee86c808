/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peer access is proved by what one board wrote and the other one read, and by nothing else. */
#include "rig/test.h"

#include <stdio.h>
#include <string.h>

#include "core/verify/peer-test.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define GPUS 3
#define BEGIN "gpupass-peers 1\n"
#define END "end\n"
#define TWO(a, b, word) "0000:0" #a ":00.0 0000:0" #b ":00.0 " word "\n"
/* All of three, but for the first two of them. */
#define OTHERS TWO(1, 3, "ok") TWO(2, 3, "ok") TWO(3, 1, "ok") TWO(3, 2, "ok")
#define ALL TWO(1, 2, "ok") TWO(2, 1, "ok") OTHERS

static const VerifyGpu gpus[GPUS] = {
	{ .bdf = { .bus = 0x41 } },
	{ .bdf = { .bus = 0x61 } },
	{ .bdf = { .bus = 0xa1 } },
};
static const VerifyInput input = {
	.domain = "vm42", .group = "trio", .gpus = gpus, .n_gpus = GPUS, .n_group = GPUS
};

/* 41 and 61 are bridged. */
static VerifyReport *report_of(size_t n_bridged)
{
	VerifyReport *report = verify_report_new(&input);

	report->match = VERIFY_MATCH_ADDRESS;
	for (size_t i = 0; i < GPUS; i++) {
		report->gpus[i].found = true;
		report->gpus[i].guest.address = (Bdf){ .bus = (uint8_t)(i + 1) };
		report->gpus[i].active = 4;
	}
	for (size_t i = 0; i < report->n_links; i++)
		report->links[i].path_ab.kind = report->links[i].path_ba.kind =
			i < n_bridged ? SMI_PATH_NVLINK : SMI_PATH_PHB;
	return report;
}

/* "proved none", and parts of the reason. */
static void expect(const char *what, const PeerTest *test, const char *verdict, const char *words)
{
	_cleanup_free_ char *is = strf("%s %s", peer_verdict_to_string(test->verdict),
				       peer_cause_to_string(test->cause));

	if (!str_equal(is, verdict) || !strstr(str_or_empty(test->reason), words))
		fail_msg("%s: %s: %s", what, is, str_or_empty(test->reason));
	assert_int_equal(test->verdict == PEERS_PROVED, test->reason == NULL);
	assert_int_equal(test->verdict == PEERS_PROVED || test->verdict == PEERS_NOT_USED,
			 test->remedy == NULL);
	assert_true(!strchr(str_or_empty(test->reason), '%') &&
		    !strchr(str_or_empty(test->remedy), '$'));
}

static void hear(const char *what, const VerifyReport *report, const GuestRun *run,
		 const char *verdict, const char *words)
{
	bool wanted = false;
	_cleanup_(peer_test_freep) PeerTest *test =
		peer_test_begin(&input, report, true, true, &wanted);

	assert_true(wanted);
	peer_test_hear(test, &input, report, run);
	expect(what, test, verdict, words);
}

static void printed(const char *out, size_t bridged, const char *verdict, const char *words)
{
	_cleanup_(verify_report_freep) VerifyReport *report = report_of(bridged);
	const GuestRun run = { .outcome = GUEST_RAN,
			       .out = (char *)out,
			       .out_size = strlen(out),
			       .err = (char *)"cuLaunchKernel: CUDA error 719\n",
			       .err_size = 31 };

	hear(out, report, &run, verdict, words);
}

TEST(it_is_proved_by_what_arrived_between_each_two)
{
	static const struct {
		const char *out;
		size_t bridged;
		const char *verdict, *words;
	} rows[] = {
		{ BEGIN ALL END, 0, "proved none", "" },
		{ BEGIN ALL END, 1, "proved none", "" },
		{ BEGIN ALL END, 3, "not-used nvlink", "by NVLink" },
		{ BEGIN TWO(1, 2, "lost") TWO(2, 1, "ok") OTHERS END, 0, "wrong lost-writes",
		  "between 0000:41:00.0 and 0000:61:00.0 did not arrive" },
		{ BEGIN TWO(1, 2, "ok") TWO(2, 1, "lost") OTHERS END, 1, "wrong lost-writes",
		  "between 0000:61:00.0 and 0000:41:00.0" },
		{ BEGIN TWO(1, 2, "lost") END, 0, "wrong lost-writes", "did not arrive" },
		{ BEGIN TWO(1, 2, "none") TWO(2, 1, "none") OTHERS END, 0, "not-proved no-access",
		  "grants none between 0000:41:00.0" },
		{ BEGIN TWO(1, 2, "error") TWO(2, 1, "none") OTHERS END, 0,
		  "not-proved program-failed", "CUDA error 719" },
		{ BEGIN TWO(1, 2, "ok") OTHERS END, 0, "not-proved other-gpus", "not show all" },
		{ BEGIN END, 0, "not-proved other-gpus", "not show all" },
		{ "no-cuda\n", 0, "not-proved no-cuda", "libcuda.so.1" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		printed(rows[i].out, rows[i].bridged, rows[i].verdict, rows[i].words);
}

TEST(writes_that_may_have_gone_by_nvlink_prove_nothing_of_pcie)
{
	static const struct {
		SmiPath ab, ba;
		unsigned active;
		const char *verdict;
	} rows[] = {
		{ SMI_PATH_PHB, SMI_PATH_PHB, 4, "proved none" },
		{ SMI_PATH_NONE, SMI_PATH_PHB, 4, "not-proved no-way" },
		{ SMI_PATH_NONE, SMI_PATH_NONE, 4, "not-proved no-way" },
		{ SMI_PATH_NVLINK, SMI_PATH_PHB, 4, "not-proved no-way" },
		{ SMI_PATH_NVLINK, SMI_PATH_NVLINK, 0, "not-proved no-way" },
		{ SMI_PATH_NVLINK, SMI_PATH_NVLINK, 4, "not-used nvlink" },
	};
	const GuestRun run = { .outcome = GUEST_RAN,
			       .out = (char *)(BEGIN ALL END),
			       .out_size = strlen(BEGIN ALL END) };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(verify_report_freep) VerifyReport *report = report_of(GPUS);

		report->links[0].path_ab.kind = rows[i].ab;
		report->links[0].path_ba.kind = rows[i].ba;
		report->gpus[0].active = rows[i].active;
		hear("way", report, &run, rows[i].verdict, "");
	}
}

TEST(what_is_not_understood_proves_nothing)
{
	static const char *const rows[] = {
		"",
		"\n",
		ALL END,
		BEGIN ALL,
		BEGIN ALL END "more\n",
		BEGIN ALL TWO(1, 2, "ok") END,
		BEGIN TWO(1, 1, "ok") ALL END,
		BEGIN ALL TWO(1, 9, "lost") END,
		BEGIN ALL "0000:01:00.0 0000:02:00.0\n" END,
		BEGIN "0000:01:00.0  0000:02:00.0 ok\n" OTHERS END,
		BEGIN TWO(1, 2, "OK") TWO(2, 1, "ok") OTHERS END,
		BEGIN TWO(1, 2, "ok ") TWO(2, 1, "ok") OTHERS END,
		BEGIN "1 2 ok\n" ALL END,
		"gpupass-peers 2\n" ALL END,
		BEGIN ALL "\x01" END,
		"no-cuda\nno-cuda\n",
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		printed(rows[i], 0, "not-proved bad-output", "not understood");
}

TEST(a_program_that_did_not_end_well_proves_nothing)
{
	static const struct {
		GuestRun run;
		const char *verdict;
	} rows[] = {
		{ { .outcome = GUEST_NOT_STARTED }, "not-proved no-python" },
		{ { .outcome = GUEST_TIMEOUT }, "not-proved timeout" },
		{ { .outcome = GUEST_TOO_MUCH }, "not-proved bad-output" },
		{ { .outcome = GUEST_GARBLED }, "not-proved bad-output" },
		{ { .outcome = GUEST_NOT_ASKED }, "not-proved not-heard" },
		{ { .outcome = GUEST_NO_AGENT }, "not-proved not-heard" },
		{ { .outcome = GUEST_RAN, .signalled = true, .exit_code = 14 },
		  "not-proved timeout" },
		{ { .outcome = GUEST_RAN, .exit_code = 1 }, "not-proved program-failed" },
		{ { .outcome = GUEST_RAN, .signalled = true }, "not-proved program-failed" },
	};
	_cleanup_(verify_report_freep) VerifyReport *report = report_of(0);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		GuestRun run = rows[i].run;

		run.out = (char *)(BEGIN ALL END);
		run.out_size = strlen(run.out);
		hear(rows[i].verdict, report, &run, rows[i].verdict, "");
	}
}

TEST(it_is_run_only_when_asked_where_the_gpus_are_known_and_have_it)
{
	static const struct {
		bool given, found, asked;
		const char *verdict, *words;
	} rows[] = {
		{ false, true, true, "not-proved not-given", "started without" },
		{ true, false, true, "not-proved not-run", "is not known" },
		{ true, true, false, "not-proved not-asked", "was not asked for" },
		{ true, true, true, "not-proved not-heard", "no answer" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(verify_report_freep) VerifyReport *report = report_of(0);
		_cleanup_(peer_test_freep) PeerTest *test = NULL;
		_cleanup_json_ json_t *json = NULL;
		bool wanted;

		report->gpus[1].found = rows[i].found;
		test = peer_test_begin(&input, report, rows[i].given, rows[i].asked, &wanted);
		assert_int_equal(wanted, i == ELEMENTS(rows) - 1);
		expect(rows[i].words, test, rows[i].verdict, rows[i].words);
		json = json_struct_write(peer_test_members, test);
		assert_string_equal(json_string_value(json_object_get(json, "cause")),
				    peer_cause_to_string(test->cause));
	}
}

/* It is one argument of guest-exec. */
TEST(the_program_is_plain_text_of_a_sane_size_for_the_boards_of_the_group)
{
	_cleanup_(verify_report_freep) VerifyReport *report = report_of(0);
	_cleanup_strv_ char **command = peer_test_command(report);
	const char *text = command[3];

	assert_string_equal(command[0], "python3");
	assert_string_equal(command[4], "0000:01:00.0");
	assert_string_equal(command[6], "0000:03:00.0");
	assert_null(command[7]);
	assert_true(strlen(text) > 1000 && strlen(text) < 8192);
	for (const char *c = text; *c; c++)
		assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
}
