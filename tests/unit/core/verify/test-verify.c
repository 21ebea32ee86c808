/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/guests.h"
#include "util/json.h"

#define UUID(n) "GPU-0000000" #n "-5c3e-4f7a-9d21-01234567890" #n

/* A domain with up to four GPUs, at 41:00.0, 61:00.0, a1:00.0 and c1:00.0 of the host. */
typedef struct Domain {
	VerifyGpu gpus[4];
	VerifyInput input;
} Domain;

static const char *const uuids[] = { UUID(1), UUID(2), UUID(3), UUID(4) };

/* `known`: its UUIDs are; `base`: the guest's first bus, 0 for none. */
static void domain_init(Domain *d, size_t n, size_t n_group, unsigned expected, bool known,
			unsigned base)
{
	static const uint8_t buses[] = { 0x41, 0x61, 0xa1, 0xc1 };

	*d = (Domain){ 0 };
	for (size_t i = 0; i < n; i++)
		d->gpus[i] = (VerifyGpu){
			.bdf = { .bus = buses[i] },
			.uuid = known ? uuids[i] : NULL,
			.guest = { .bus = (uint8_t)(base + i) },
			.has_guest = base > 0,
		};
	d->input = (VerifyInput){
		.domain = "vm42",
		.group = n_group > 2 ? "quad0" : "pair0",
		.gpus = d->gpus,
		.n_gpus = n,
		.n_group = n_group,
		.links_expected = expected,
	};
}

/* The board of it on the host, until the next call for the same one. */
static Gpu *gpu_of(const Domain *d, size_t i, const Board *board)
{
	static PciFunction leads[4];
	static Gpu gpus[4];

	leads[i] = (PciFunction){ .bdf = d->gpus[i].bdf, .vendor = PCI_VENDOR_NVIDIA };
	gpus[i] = (Gpu){ .lead = &leads[i], .board = board, .uuid = (char *)uuids[i] };
	return &gpus[i];
}

/* "degraded, few-links", and a part of the reason. */
static void expect(const VerifyReport *report, const char *what, const char *verdict,
		   const char *words)
{
	_cleanup_free_ char *is = strf("%s, %s", verdict_to_string(report->verdict),
				       verify_cause_to_string(report->cause));

	if (!str_equal(is, verdict) || !strstr(str_or_empty(report->reason), words))
		fail_msg("%s: %s, \"%s\" instead of %s, \"%s\"", what, is,
			 str_or_empty(report->reason), verdict, words);
	if (report->verdict == VERDICT_VERIFIED) {
		assert_null(report->reason);
		assert_null(report->remedy);
		return;
	}
	assert_non_null(report->remedy);
	assert_null(strchr(report->remedy, '$'));
}

/*
 * A row ends with what is done to the domain, which is called d, or to what its guest prints, which
 * is called runs; `then` looks at the report.
 */
#define ON_GUEST(guest_, then, ...)                                                                \
	do {                                                                                       \
		GuestRun runs[VERIFY_RUNS] = { 0 };                                                \
		VerifyReport *report;                                                              \
		Domain domain, *d = &domain;                                                       \
                                                                                                   \
		domain_init(d, 2, 2, 4, true, 1);                                                  \
		guest_runs(guest_, runs);                                                          \
		__VA_ARGS__;                                                                       \
		report = verify_judge(&d->input, runs);                                            \
		then;                                                                              \
		verify_report_free(report);                                                        \
		guest_runs_clear(runs, VERIFY_RUNS);                                               \
	} while (0)
#define JUDGED(what, guest_, verdict, words, ...)                                                  \
	ON_GUEST(guest_, expect(report, what, verdict, words), __VA_ARGS__)

TEST(the_verdict_follows_from_what_the_guest_prints)
{
	static const struct {
		const char *guest;
		unsigned n, expected;
		const char *verdict, *words;
	} rows[] = {
		{ "turing-rtx-2080", 2, 1, "verified, none", "" },
		{ "turing-rtx-2080-ti", 2, 2, "verified, none", "" },
		{ "ga102-rtx-a6000", 2, 4, "verified, none", "" },
		{ "ga102-nics", 2, 4, "verified, none", "" },
		{ "a30", 2, 4, "verified, none", "" },
		{ "a100-pcie", 2, 12, "verified, none", "" },
		{ "h100-pcie", 2, 12, "verified, none", "" },
		{ "h200-nvl-two", 2, 18, "verified, none", "" },
		{ "h200-nvl-four", 4, 6, "verified, none", "" },
		{ "ga102-half", 2, 4, "degraded, few-links",
		  "2 of 4 links are active on 0000:41:00.0" },
		{ "h100-one-bridge-off", 2, 12, "degraded, few-links",
		  "8 of 12 links are active on 0000:41:00.0" },
		{ "a30", 2, 12, "degraded, few-links", "4 of 12 links" },
		{ "asymmetric", 2, 4, "degraded, asymmetric",
		  "0000:41:00.0 reaches 0000:61:00.0 by NV4, but the way back is NV2" },
		{ "one-way", 2, 4, "broken, asymmetric", "the way back is PHB" },
		{ "ga102-no-bridge", 2, 4, "broken, no-nvlink",
		  "0000:41:00.0 and 0000:61:00.0 reach each other by PCIe (SYS)" },
		{ "no-nvlink-board", 2, 4, "broken, no-nvlink", "(PHB)" },
		{ "all-inactive", 2, 4, "broken, no-nvlink", "(PHB)" },
		{ "ga102-topo-lies", 2, 4, "broken, links-inactive", "no link is active" },
		{ "ga102-p2p-chipset", 2, 4, "broken, no-peer-access",
		  "is CNS: the chipset does not support it" },
		{ "ga102-p2p-regkey", 2, 4, "broken, no-peer-access",
		  "is DR: a setting of the driver disables it" },
		{ "ga102-p2p-unknown", 2, 4, "unknown, no-peer-access", "is U" },
		{ "ga102-rtx-a6000", 2, 0, "unknown, board-not-known",
		  "4 links join 0000:41:00.0 and 0000:61:00.0" },
		{ "one-gpu", 2, 4, "broken, gpu-missing", "shows 1 of 2 GPUs" },
		{ "no-devices", 2, 4, "broken, gpu-missing", "shows 0 of 2 GPUs" },
		{ "no-driver", 2, 4, "unknown, no-driver",
		  "couldn't communicate with the NVIDIA driver" },
		{ "version-mismatch", 2, 4, "unknown, driver-mismatch",
		  "exit status 18, \"Failed to initialize NVML: Driver/library version mismatch\"" },
		{ "old-driver", 2, 4, "unknown, nvidia-smi-failed",
		  "nvidia-smi topo -p2p n: exit status 2, \"Invalid argument" },
		{ "mig", 2, 12, "broken, no-nvlink", "(SYS)" },
		{ "confidential", 2, 12, "broken, no-nvlink", "(SYS)" },
		{ "h200-nvl-four", 2, 18, "unknown, ambiguous-gpus",
		  "which of the guest's GPUs are those of pair0" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JUDGED(rows[i].guest, rows[i].guest, rows[i].verdict, rows[i].words,
		       domain_init(d, rows[i].n, rows[i].n, rows[i].expected, false, 0));
		/* The same when the host knows the UUIDs, but where it is about telling GPUs. */
		if (strstr(rows[i].verdict, "gpu-missing") || strstr(rows[i].verdict, "ambiguous"))
			continue;
		ON_GUEST(rows[i].guest,
			 (expect(report, rows[i].guest, rows[i].verdict, rows[i].words),
			  assert_true(report->verdict != VERDICT_VERIFIED ||
				      report->match == VERIFY_MATCH_UUID)),
			 domain_init(d, rows[i].n, rows[i].n, rows[i].expected, true, 5));
	}
}

static void expect_one_bad_link(const VerifyReport *report)
{
	size_t bad = 0;

	expect(report, "quad", "broken, asymmetric",
	       "0000:41:00.0 reaches 0000:c1:00.0 by NV6, but the way back is SYS");
	assert_int_equal(report->n_links, 6);
	for (size_t i = 0; i < 6; i++)
		bad += report->links[i].verdict != VERDICT_VERIFIED;
	assert_int_equal(bad, 1);
}

TEST(one_bad_link_of_a_quad_is_named)
{
	ON_GUEST("h200-nvl-four", expect_one_bad_link(report), domain_init(d, 4, 4, 6, true, 1),
		 memcpy(strstr(strstr(runs[1].out, "\nGPU3\t"), "NV6"), "SYS", 3));
}

TEST(gpus_of_others_in_the_guest_do_not_count)
{
	static const struct {
		const char *what;
		bool known;
		unsigned base; /* the guest's first bus as the XML has it; it really is 1 */
		size_t n_gpus;
		VerifyMatch match;
		const char *verdict;
	} rows[] = {
		{ "by UUID", true, 9, 3, VERIFY_MATCH_UUID, "verified, none" },
		{ "by UUID, one that is not the domain's", true, 0, 2, VERIFY_MATCH_UUID,
		  "verified, none" },
		{ "by address", false, 1, 3, VERIFY_MATCH_ADDRESS, "verified, none" },
		{ "addresses that are shifted", false, 2, 3, VERIFY_MATCH_NONE,
		  "unknown, ambiguous-gpus" },
		{ "no addresses", false, 0, 3, VERIFY_MATCH_NONE, "unknown, ambiguous-gpus" },
		{ "one more than the domain has", false, 1, 2, VERIFY_MATCH_NONE,
		  "unknown, ambiguous-gpus" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		ON_GUEST("additional-gpu",
			 (expect(report, rows[i].what, rows[i].verdict, ""),
			  assert_int_equal(report->match, rows[i].match)),
			 domain_init(d, rows[i].n_gpus, 2, 4, rows[i].known, rows[i].base));
}

static void expect_indexes(const VerifyReport *report, unsigned first, unsigned second)
{
	assert_int_equal(report->gpus[0].guest.index, first);
	assert_int_equal(report->gpus[1].guest.index, second);
}

static void expect_third_and_first(const VerifyReport *report)
{
	expect(report, "third and first", "broken, no-nvlink", "(PHB)");
	/* The bridge's seat comes last: a reboot of the guest is cheap, and often helps. */
	assert_true(
		str_starts_with(report->remedy, "reboot the guest, then: gpupass verify vm42; "));
	assert_true(strstr(report->remedy, "gpupass status") < strstr(report->remedy, "seat"));
	expect_indexes(report, 2, 0);
}

TEST(the_group_need_not_be_first_in_the_guest)
{
	ON_GUEST("additional-gpu", expect_third_and_first(report), {
		domain_init(d, 3, 2, 4, false, 1);
		d->gpus[0].guest.bus = 3;
		d->gpus[1].guest.bus = 1;
		d->gpus[2].guest.bus = 2;
	});
}

/* It has no links: that the guest's driver has it is all there is to prove. */
TEST(a_group_of_one_is_verified_when_the_guests_driver_has_it)
{
	ON_GUEST("additional-gpu",
		 (expect(report, "its only GPU", "verified, none", ""),
		  assert_true(report->gpus[0].found)),
		 domain_init(d, 3, 1, 0, false, 1));
	JUDGED("without a driver", "no-driver", "unknown, no-driver", "",
	       domain_init(d, 3, 1, 0, false, 1));
}

TEST(other_gpus_than_the_hosts_are_not_taken_for_them)
{
	JUDGED("other", "ga102-rtx-a6000", "unknown, other-gpus", "0000:61:00.0 (" UUID(9) ")",
	       d->gpus[1].uuid = UUID(9));
	JUDGED("missing", "one-gpu", "broken, gpu-missing",
	       "1 of 2 GPUs; 0000:61:00.0 (" UUID(2) ") is missing", (void)0);
}

TEST(one_known_uuid_tells_the_other_gpu_as_well)
{
	ON_GUEST("ga102-rtx-a6000",
		 (expect(report, "one known", "verified, none", ""), expect_indexes(report, 1, 0)),
		 domain_init(d, 2, 2, 4, false, 0), d->gpus[0].uuid = UUID(2));
}

TEST(what_kept_the_guest_from_answering_is_named)
{
	static const struct {
		GuestOutcome outcome;
		const char *verdict, *words;
	} rows[] = {
		{ GUEST_NOT_RUNNING, "unknown, not-running", "vm42 is not running" },
		{ GUEST_NO_CHANNEL, "unknown, no-agent-channel", "no channel" },
		{ GUEST_NO_AGENT, "unknown, no-agent", "its words" },
		{ GUEST_EXEC_DISABLED, "unknown, exec-disabled", "may not run programs" },
		{ GUEST_NOT_STARTED, "unknown, no-nvidia-smi", "cannot run nvidia-smi: its words" },
		{ GUEST_TIMEOUT, "unknown, timeout", "in time" },
		{ GUEST_TOO_MUCH, "unknown, too-much-output", "64 KiB" },
		{ GUEST_GARBLED, "unknown, bad-agent-reply", "its words" },
		{ GUEST_REFUSED, "unknown, bad-agent-reply", "its words" },
	};

	for (size_t which = 0; which < VERIFY_RUNS; which++)
		for (size_t i = 0; i < ELEMENTS(rows); i++)
			ON_GUEST("ga102-rtx-a6000",
				 (expect(report, guest_outcome_to_string(rows[i].outcome),
					 rows[i].verdict, rows[i].words),
				  assert_int_equal(report->links[0].verdict, VERDICT_UNKNOWN)),
				 {
					 for (size_t k = which; k < VERIFY_RUNS; k++)
						 guest_run_clear(&runs[k]);
					 runs[which].outcome = rows[i].outcome;
					 runs[which].detail = strdup("its\twords");
				 });
}

/* field: guest/15 */
TEST(an_agent_that_may_not_run_the_program_is_told_from_a_program_that_is_not_there)
{
	ON_GUEST("ga102-rtx-a6000",
		 (expect(report, "confined", "unknown, not-permitted", "Permission denied"),
		  assert_non_null(strstr(report->remedy, "SELinux"))),
		 {
			 guest_run_clear(&runs[0]);
			 runs[0].outcome = GUEST_NOT_STARTED;
			 runs[0].detail =
				 strdup("Failed to execute child process (Permission denied)");
		 });
}

TEST(a_path_over_pcie_is_told_even_if_nothing_else_is)
{
	JUDGED("PCIe", "ga102-no-bridge", "broken, no-nvlink", "(SYS)", guest_run_clear(&runs[2]),
	       runs[2].outcome = GUEST_TIMEOUT);
}

/* fault 54 */
TEST(garbage_proves_nothing)
{
	static const char *const words[] = { "hello\n", "\x1b[2J", "GPU0\tX\tNV4\n",
					     "\tGPU0\tGPU1\nGPU0\tX\tNV4\n" };

	for (size_t which = 0; which < VERIFY_RUNS; which++)
		for (size_t i = 0; i < ELEMENTS(words); i++)
			ON_GUEST("ga102-rtx-a6000",
				 (expect(report, words[i], "unknown, bad-output", "not understood"),
				  assert_null(strchr(report->reason, '\x1b'))),
				 {
					 free(runs[which].out);
					 runs[which].out = strdup(words[i]);
					 runs[which].out_size = strlen(words[i]);
				 });
}

static void diagnose(const Domain *d, const char *guest, VerifyReport *report)
{
	GuestRun runs[VERIFY_DIAGNOSES] = { 0 };

	assert_true(verify_wants_diagnosis(report));
	guest_diagnoses(guest, runs);
	verify_diagnose(&d->input, runs, report);
	guest_runs_clear(runs, VERIFY_DIAGNOSES);
}

TEST(mig_and_confidential_computing_are_named_as_the_reason)
{
	static const char *const rows[][3] = {
		{ "mig", "broken, mig", "0000:61:00.0 is in multi-instance mode (MIG)" },
		{ "confidential", "broken, confidential-computing",
		  "confidential computing is on" },
		/* A driver that knows neither: the reason stays. */
		{ "ga102-no-bridge", "broken, no-nvlink", "(SYS)" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		ON_GUEST(rows[i][0],
			 (diagnose(d, rows[i][0], report),
			  expect(report, rows[i][0], rows[i][1], rows[i][2])),
			 d->input.links_expected = 12);
}

TEST(what_is_well_needs_no_diagnosis)
{
	ON_GUEST("a30", assert_false(verify_wants_diagnosis(report)), (void)0);
}

TEST(what_was_given_up_needs_no_diagnosis)
{
	_cleanup_(verify_report_freep) VerifyReport *report = NULL;
	Domain d;

	domain_init(&d, 2, 2, 4, true, 1);
	report = verify_give_up(&d.input, VERIFY_NOT_RUNNING);
	expect(report, "given up", "unknown, not-running", "not running");
	assert_false(verify_wants_diagnosis(report));
}

TEST(names_stay_as_they_are_in_a_remedy)
{
	_cleanup_(verify_report_freep) VerifyReport *report = NULL;
	Domain d;

	domain_init(&d, 2, 2, 4, true, 1);
	d.input.domain = "vm%2$s%n";
	report = verify_give_up(&d.input, VERIFY_NOT_ATTACHED);
	assert_non_null(strstr(report->remedy, "gpupass assign vm%2$s%n pair0 --live"));
}

static VerifyReport *judge(const Domain *d, const char *guest)
{
	GuestRun runs[VERIFY_RUNS] = { 0 };
	VerifyReport *report;

	guest_runs(guest, runs);
	report = verify_judge(&d->input, runs);
	guest_runs_clear(runs, VERIFY_RUNS);
	return report;
}

/* promise G2 */
/* fault L13 */
TEST(what_was_seen_can_be_handed_on_as_evidence)
{
	static const struct {
		const char *guest;
		bool known;
		uint16_t device; /* of the catalogue; 0: nobody knows how many links it has */
		int r;
		bool seen;
		unsigned ab, ba, inactive;
	} rows[] = {
		{ "ga102-rtx-a6000", true, 0, 0, true, 4, 4, 0 },
		{ "h100-pcie", true, 0, 0, true, 12, 12, 6 },
		{ "ga102-half", true, 0x2230, 0, true, 2, 2, 2 },
		{ "ga102-topo-lies", true, 0, 0, true, 0, 0, 4 },
		{ "ga102-no-bridge", true, 0, 0, true, 0, 0, 4 },
		{ "asymmetric", true, 0, 0, true, 4, 2, 0 },
		{ "ga102-rtx-a6000", false, 0, 0, false, 0, 0, 0 }, /* by count */
		{ "no-nvlink-board", true, 0, 0, false, 0, 0, 0 },
		{ "one-gpu", true, 0, 0, false, 0, 0, 0 },
		{ "no-driver", true, 0, 0, false, 0, 0, 0 },
		/* A guest that claims more than the board has. */
		{ "h100-pcie", true, 0x2230, -EINVAL, false, 0, 0, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(verify_report_freep) VerifyReport *report = NULL;
		_cleanup_(evidence_unrefp) Evidence *seen = NULL;
		const Board *board = board_find(PCI_VENDOR_NVIDIA, rows[i].device, 0);
		Domain d;

		domain_init(&d, 2, 2, 4, rows[i].known, 0);
		d.input.domain = "vm\n42";
		d.input.domain_uuid = "22222222-2222-4222-8222-222222222222";
		report = judge(&d, rows[i].guest);
		print_message("%s\n", rows[i].guest);
		assert_int_equal(verify_evidence(report, &d.input,
						 (Gpu *const[]){ gpu_of(&d, 0, board),
								 gpu_of(&d, 1, board) },
						 7, &seen),
				 rows[i].r);
		assert_int_equal(seen != NULL, rows[i].seen);
		if (!seen)
			continue;
		assert_int_equal(sighting_links_to(&seen->items[0], &d.gpus[1].bdf), rows[i].ab);
		assert_int_equal(sighting_links_to(&seen->items[1], &d.gpus[0].bdf), rows[i].ba);
		assert_int_equal(seen->items[1].inactive, rows[i].inactive);
		assert_string_equal(seen->items[0].source, "guest vm?42");
		assert_string_equal(seen->items[0].domain, d.input.domain_uuid);
		assert_string_equal(seen->items[0].uuid, UUID(1));
		assert_int_equal(seen->items[0].seen_usec, 7);
		assert_true(seen->items[0].way == WAY_GUEST && seen->items[0].fresh);
	}
}

TEST(nvlink_that_is_turned_off_in_the_guest_says_nothing_of_the_bridge)
{
	static const char *const guests[] = {
		"mig", "confidential", "guests-in-the-field/04-driver595-nvlink-disabled-pair"
	};

	for (size_t i = 0; i < ELEMENTS(guests); i++) {
		_cleanup_(verify_report_freep) VerifyReport *report = NULL;
		_cleanup_(evidence_unrefp) Evidence *seen = NULL;
		Domain d;

		domain_init(&d, 2, 2, 4, false, 1);
		report = judge(&d, guests[i]);
		assert_int_equal(report->match, VERIFY_MATCH_ADDRESS);
		diagnose(&d, guests[i], report);
		assert_int_equal(
			verify_evidence(report, &d.input,
					(Gpu *const[]){ gpu_of(&d, 0, NULL), gpu_of(&d, 1, NULL) },
					7, &seen),
			0);
		if (seen)
			fail_msg("%s: it is evidence", guests[i]);
	}
}

TEST(a_report_is_one_json_document)
{
	_cleanup_(verify_report_freep) VerifyReport *report = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *json = NULL;
	const json_t *gpu, *link;
	Domain d;

	domain_init(&d, 2, 2, 4, true, 1);
	report = judge(&d, "ga102-half");
	text = verify_report_to_json(report, &d.input, "uuid-of-vm42", 77, NULL, NULL, NULL, NULL);
	assert_non_null(text);
	assert_int_equal(
		json_parse_document(text, strlen(text), "org.gpupass1.verify/1", &json, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(json, "verdict")), "degraded");
	assert_string_equal(json_string_value(json_object_get(json, "cause")), "few-links");
	assert_string_equal(json_string_value(json_object_get(json, "group")), "pair0");
	assert_int_equal(json_integer_value(json_object_get(json, "asked_at")), 77);
	gpu = json_array_get(json_object_get(json, "gpus"), 1);
	assert_string_equal(json_string_value(json_object_get(gpu, "address")), "0000:61:00.0");
	assert_string_equal(json_string_value(json_object_get(gpu, "uuid")), UUID(2));
	assert_int_equal(json_integer_value(json_object_get(gpu, "links_active")), 2);
	link = json_array_get(json_object_get(json, "links"), 0);
	assert_string_equal(json_string_value(json_object_get(link, "verdict")), "degraded");
	assert_string_equal(json_string_value(json_array_get(json_object_get(link, "paths"), 0)),
			    "NV2");
}

TEST(every_cause_has_a_reason_and_a_remedy)
{
	Domain d;

	domain_init(&d, 2, 2, 4, true, 1);
	for (VerifyCause cause = VERIFY_NOTHING; cause < VERIFY_CAUSE_MAX_; cause++) {
		_cleanup_(verify_report_freep) VerifyReport *report = NULL;
		_cleanup_free_ char *text = NULL;

		report = verify_give_up(&d.input, cause);
		assert_true(report->reason && report->remedy);
		text = verify_report_to_json(report, &d.input, "u", 1, NULL, NULL, NULL, NULL);
		assert_non_null(text);
	}
}
