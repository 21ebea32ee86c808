/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verification as a job: what it tells the loop, and that it changes nothing. */
#include "rig/test.h"

#include <string.h>

#include "job/prepare.h"
#include "rig/job-rig.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Told {
	bool planned, ended;
	JobState state;
	char *group, *error_name, *message, *result, *note;
	Verdict verdict;
	size_t n_functions;
} Told;

static void on_event(_unused_ uint32_t id, JobEvent *event, void *userdata)
{
	Told *told = userdata;

	if (event->kind == JOB_EVENT_PLANNED) {
		told->planned = true;
		told->group = TAKE_PTR(event->group);
		/* It has nothing in hand, and no steps. */
		assert_int_equal(event->n_functions, 0);
		assert_int_equal(event->n_steps, 0);
		assert_false(event->changed);
		return;
	}
	if (event->kind == JOB_EVENT_NOTE) {
		assert_int_equal(event->note.kind, JOB_NOTE_LINKS);
		told->note = TAKE_PTR(event->note.text);
		return;
	}
	assert_int_equal(event->kind, JOB_EVENT_ENDED);
	told->ended = true;
	told->state = event->state;
	told->verdict = event->verdict;
	told->n_functions = event->n_functions;
	told->error_name = TAKE_PTR(event->error_name);
	told->message = TAKE_PTR(event->message);
	told->result = TAKE_PTR(event->result);
}

static void told_clear(Told *told)
{
	free(told->group);
	free(told->error_name);
	free(told->message);
	free(told->result);
	free(told->note);
	*told = (Told){ 0 };
}

/* Runs it on its thread; the world must be as before. */
static void verify_with(Rig *rig, const char *domain, bool workload, Told *told)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;
	_cleanup_free_ char *before = rig_world(rig);
	JobRequest request = verify_request(domain);

	request.workload = workload;
	*told = (Told){ 0 };
	assert_int_equal(mailbox_new(&mailbox), 0);
	job_start(9, mailbox, &rig->place, &request, on_event, told);
	rig_wait_for(mailbox, &told->ended);
	rig_check_world(rig, before, "verify");
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}

static void verify(Rig *rig, const char *domain, Told *told)
{
	verify_with(rig, domain, false, told);
}

/* The running vm42 with pair0 in it, and a guest. */
static FakeDomain *assigned(Rig *rig, const char *guest)
{
	FakeDomain *domain = fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	JobRequest request = assign_request("vm42", "pair0");

	rig_must(rig, &request);
	fake_start(&rig->fake, "vm42");
	fake_watch(&rig->fake);
	domain->guest = guest;
	return domain;
}

static char *member(const char *json, const char *key)
{
	_cleanup_json_ json_t *document = NULL;
	const char *value;

	assert_non_null(json);
	assert_int_equal(
		json_parse_document(json, strlen(json), "org.gpupass1.verify/1", &document, NULL),
		0);
	value = json_string_value(json_object_get(document, key));
	return strdup(str_or_empty(value));
}

/* "pass none" of the member "workload"; "" where it is null. */
static char *workload_of(const char *json)
{
	_cleanup_json_ json_t *document = NULL;
	const json_t *workload;

	assert_int_equal(json_parse(json, strlen(json), &document, NULL), 0);
	workload = json_object_get(document, "workload");
	if (json_is_null(workload))
		return strdup("");
	return strf("%s %s", json_string_value(json_object_get(workload, "verdict")),
		    json_string_value(json_object_get(workload, "cause")));
}

static void expect(Told *told, Verdict verdict, const char *cause)
{
	_cleanup_free_ char *is = NULL, *reason = NULL;

	if (told->state != JOB_DONE)
		fail_msg("failed: %s", str_or_empty(told->message));
	is = member(told->result, "cause");
	reason = member(told->result, "reason");
	if (told->verdict != verdict || strcmp(is, cause) != 0)
		fail_msg("%s, %s: %s", verdict_to_string(told->verdict), is, reason);
	assert_true(told->planned);
	assert_string_equal(told->group, "pair0");
	assert_int_equal(told->n_functions, 2);
	told_clear(told);
}

TEST_WITH(the_verdict_is_the_result_of_the_job, rig_setup, rig_teardown)
{
	static const struct {
		const char *guest;
		Verdict verdict;
		const char *cause;
	} rows[] = {
		{ "ga102-rtx-a6000", VERDICT_VERIFIED, "none" },
		{ "ga102-half", VERDICT_DEGRADED, "few-links" },
		{ "ga102-no-bridge", VERDICT_BROKEN, "no-nvlink" },
		{ "mig", VERDICT_BROKEN, "mig" },
		{ "confidential", VERDICT_BROKEN, "confidential-computing" },
		{ "no-driver", VERDICT_UNKNOWN, "no-driver" },
		{ NULL, VERDICT_UNKNOWN, "no-agent" },
	};
	FakeDomain *domain = assigned(*state, NULL);
	Told told;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		domain->guest = rows[i].guest;
		verify(*state, "vm42", &told);
		expect(&told, rows[i].verdict, rows[i].cause);
	}
}

TEST_WITH(a_guest_that_stops_answering_proves_nothing, rig_setup, rig_teardown)
{
	FakeDomain *domain = assigned(*state, "ga102-rtx-a6000");
	Told told;

	domain->guest_fails = GUEST_TIMEOUT;
	for (domain->guest_nth = 0; domain->guest_nth < VERIFY_RUNS; domain->guest_nth++) {
		verify(*state, "vm42", &told);
		expect(&told, VERDICT_UNKNOWN, "timeout");
	}
}

ON_A_RIG(a_domain_that_does_not_run_is_not_asked)
{
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	fake_shut_off(&rig->fake, "vm42");
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-running");
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 0);
}

ON_A_RIG(a_running_domain_without_the_gpus_is_not_asked)
{
	FakeDomain *domain = assigned(rig, "ga102-rtx-a6000");
	Bdf bdf = { .bus = 0x61 };
	char *live = fake_xml_detach(domain->live_xml, &bdf);
	Told told;

	free(domain->live_xml);
	domain->live_xml = live;
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-attached");
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 0);
}

static void detach_behind_the_back(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	FakeDomain *domain = fake_domain(fake, "vm42");
	Bdf bdf = { .bus = 0x61 };
	char *live;

	if (op != FAKE_GUEST_RUN)
		return;
	live = fake_xml_detach(domain->live_xml, &bdf);
	free(domain->live_xml);
	domain->live_xml = live;
}

/* fault 55 */
ON_A_RIG(what_was_seen_does_not_count_when_the_gpus_went_meanwhile)
{
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	rig->fake.hook = detach_behind_the_back;
	/* Not verify(): the world does change, by another's hand. */
	{
		JobRequest request = verify_request("vm42");
		_cleanup_(verification_freep) Verification *v = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *prefix = NULL;

		assert_int_equal(verification_new(&rig->place, &request, &v, &problem, &prefix), 0);
		assert_int_equal(verification_run(&rig->place, &request, v, &problem), 0);
		assert_int_equal(v->report->verdict, VERDICT_UNKNOWN);
		assert_int_equal(v->report->cause, VERIFY_CHANGED);
	}
	rig->fake.hook = NULL;
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-attached");
}

ON_A_RIG(what_cannot_be_asked_about_is_an_error)
{
	static const FakeFault lost = { .op = FAKE_GUEST_RUN,
					.nth = 1,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	Told told;

	verify(rig, "vm99", &told);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.NoSuchDomain");
	assert_non_null(strstr(told.message, "cannot verify vm99: there is no domain"));
	assert_null(told.result);
	told_clear(&told);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	verify(rig, "vm77", &told);
	assert_string_equal(told.error_name, "org.gpupass1.Error.NotAssigned");
	assert_non_null(strstr(
		told.message,
		"cannot verify vm77 (3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777): vm77 has no group"));
	told_clear(&told);
	assigned(rig, "ga102-rtx-a6000");
	fake_fail(&rig->fake, &lost);
	verify(rig, "vm42", &told);
	assert_int_equal(told.state, JOB_FAILED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.LibvirtUnavailable");
	assert_non_null(
		strstr(told.message,
		       "cannot verify pair0 in vm42 (3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242): "));
	told_clear(&told);
}

ON_A_RIG(it_does_not_meet_other_jobs)
{
	Bdf functions[] = { { .bus = 0x41 }, { .bus = 0x61 } };
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	rig_claim(rig->claims, 77, "pair0", functions, 2);
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_VERIFIED, "none");
	claims_release(rig->claims, 77);
}

/* ---- as evidence ---- */

/* A place that knows of links; as the manager keeps it. */
typedef struct Known {
	char directory[64];
	TopologyStore store;
	Identities *identities;
} Known;

/* pair0's UUIDs, as those guests print them: which GPU is which must be certain. */
static Identities *identities_of_pair0(const Rig *rig)
{
	static const struct {
		Bdf bdf;
		const char *uuid;
	} boards[] = {
		{ { .bus = 0x41 }, "GPU-00000001-5c3e-4f7a-9d21-012345678901" },
		{ { .bus = 0x61 }, "GPU-00000002-5c3e-4f7a-9d21-012345678902" },
	};
	Identities *identities = xcalloc(1, sizeof(Identities));

	identities->items = xcalloc(ELEMENTS(boards), sizeof(Identity));
	for (size_t i = 0; i < ELEMENTS(boards); i++) {
		const PciFunction *f = pci_snapshot_find(rig->fake.snapshot, &boards[i].bdf);

		identities->items[identities->n_items++] = (Identity){
			.bdf = f->bdf,
			.device = f->device,
			.subsystem_vendor = f->subsystem_vendor,
			.subsystem_device = f->subsystem_device,
			.uuid = strdup(boards[i].uuid),
		};
	}
	return identities;
}

static void known_open(Known *known, Rig *rig)
{
	*known = (Known){ .identities = identities_of_pair0(rig) };
	rig_make_directory(known->directory, "links");
	topology_store_open(known->directory, &known->store);
	rig->place.topology = &known->store;
	rig->place.known = known->identities;
}

static void known_close(Known *known, Rig *rig)
{
	rig->place.topology = NULL;
	rig->place.known = NULL;
	identities_free(known->identities);
	unlinkat(known->store.records.dir_fd, TOPOLOGY_FILE, 0);
	topology_store_close(&known->store);
	rmdir(known->directory);
}

/* Looks again, as the manager does after each job: "degraded 2; declared 0, guest 2". */
static char *shown(Known *known, const Rig *rig, const char *name)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = topology_store_get(&known->store);
	_cleanup_(prepared_freep) Prepared *p = xcalloc(1, sizeof(Prepared));
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_strv_ char **list = NULL;
	_cleanup_free_ char *joined = NULL;
	const Group *group;

	identities_set_evidence(known->identities, evidence);
	assert_int_equal(prepare_look(&rig->place, INSPECT_CONFIG_ALL, true, p, &problem), 0);
	group = group_set_find(p->inventory->groups, name);
	assert_non_null(group);
	for (size_t i = 0; i < group->n_evidence; i++)
		strv_appendf(&list, "%s %u", provenance_to_string(group->evidence[i].provenance),
			     group->evidence[i].links);
	if (group->word.counts)
		strv_appendf(&list, "guest %u", group->word.links);
	joined = strv_join(list, ", ");
	return strf("%s %u; %s", group_state_to_string(group->state), group_links(group), joined);
}

static void cancel_while_asked(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	const Rig *rig = (const Rig *)fake;

	if (op == FAKE_GUEST_RUN)
		assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), 1);
}

/* fault 62 */
ON_A_RIG(a_cancelled_verification_has_no_verdict_and_is_no_evidence)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	Known known;
	Told told;

	known_open(&known, rig);
	assigned(rig, "ga102-rtx-a6000");
	before = shown(&known, rig, "pair0");
	cancellation_new(&rig->place.cancel);
	rig->fake.hook = cancel_while_asked;
	verify(rig, "vm42", &told);
	assert_int_equal(told.state, JOB_CANCELLED);
	assert_string_equal(told.error_name, "org.gpupass1.Error.Cancelled");
	assert_non_null(strstr(told.message, "user 54321 cancelled the job"));
	assert_null(told.result);
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 1);
	after = shown(&known, rig, "pair0");
	assert_string_equal(before, after);
	told_clear(&told);
	/* Before that the guest is not asked at all. */
	fake_watch(&rig->fake);
	verify(rig, "vm42", &told);
	assert_int_equal(told.state, JOB_CANCELLED);
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 0);
	told_clear(&told);
	known_close(&known, rig);
}

/* fault L11 */
ON_A_RIG(what_a_guest_shows_is_evidence)
{
	static const struct {
		const char *guest;
		Verdict verdict;
		const char *cause, *shown;
	} rows[] = {
		/* Nothing that was not told. */
		{ "no-driver", VERDICT_UNKNOWN, "no-driver", "assigned 0; declared 0" },
		{ "ga102-rtx-a6000", VERDICT_VERIFIED, "none", "assigned 4; declared 0, guest 4" },
		{ "ga102-half", VERDICT_DEGRADED, "few-links", "degraded 2; declared 0, guest 2" },
		{ "ga102-no-bridge", VERDICT_BROKEN, "no-nvlink",
		  "degraded 0; declared 0, guest 0" },
		{ "ga102-rtx-a6000", VERDICT_VERIFIED, "none", "assigned 4; declared 0, guest 4" },
		/* What was known stays. */
		{ NULL, VERDICT_UNKNOWN, "no-agent", "assigned 4; declared 0, guest 4" },
	};
	FakeDomain *domain = assigned(rig, NULL);
	Known known;
	Told told;

	known_open(&known, rig);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *now = NULL;

		domain->guest = rows[i].guest;
		verify(rig, "vm42", &told);
		expect(&told, rows[i].verdict, rows[i].cause);
		now = shown(&known, rig, "pair0");
		if (strcmp(now, rows[i].shown) != 0)
			fail_msg("row %zu: %s", i, now);
	}
	known_close(&known, rig);
}

/* promise G6 */
/*
 * A tenant's guest reports all that it can think of. While vm42 has the group that degrades it for
 * vm42 alone; after the release nothing is left of it, and the group goes to the next domain.
 */
ON_A_RIG(whatever_a_guest_reports_the_group_goes_to_the_next_domain)
{
	static const char *const guests[] = {
		"ga102-no-bridge", "ga102-half",      "all-inactive", "asymmetric",
		"one-way",	   "ga102-topo-lies", "no-driver",    "mig",
		"additional-gpu",  "h100-pcie",	      "one-gpu",      "ga102-p2p-chipset",
	};
	JobRequest release = release_request("pair0"), again = assign_request("vm42", "pair0");
	JobRequest next = assign_request("vm43", "pair0"), back = release_request("pair0");
	Known known;
	Told told;

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	known_open(&known, rig);
	for (size_t i = 0; i < ELEMENTS(guests); i++) {
		_cleanup_free_ char *during = NULL, *after = NULL, *other = NULL;

		rig_must(rig, &again);
		fake_start(&rig->fake, "vm42");
		fake_watch(&rig->fake);
		fake_domain(&rig->fake, "vm42")->guest = guests[i];
		verify(rig, "vm42", &told);
		told_clear(&told);
		during = shown(&known, rig, "pair0");
		fake_shut_off(&rig->fake, "vm42");
		rig_must(rig, &release);
		after = shown(&known, rig, "pair0");
		rig_must(rig, &next);
		other = shown(&known, rig, "pair0");
		rig_must(rig, &back);
		if (strcmp(after, "free 0; declared 0") != 0 ||
		    strcmp(other, "assigned 0; declared 0") != 0)
			fail_msg("%s: %s, then %s, then %s", guests[i], during, after, other);
	}
	known_close(&known, rig);
}

/* fault L13 */
ON_A_RIG(more_links_than_the_boards_have_are_told_and_not_believed)
{
	_cleanup_free_ char *now = NULL;
	Known known;
	Told told;

	assigned(rig, "h100-pcie");
	known_open(&known, rig);
	verify(rig, "vm42", &told);
	assert_string_equal(told.note, "vm42 tells of more links than the boards of pair0 have: "
				       "not believed");
	now = shown(&known, rig, "pair0");
	assert_string_equal(now, "assigned 0; declared 0");
	told_clear(&told);
	known_close(&known, rig);
}

/* fault L14 */
/* pair0 was probed and assigned; then boards came, and nothing that was seen counts any more. */
ON_A_RIG(an_assigned_group_is_released_by_its_name_when_its_evidence_is_stale)
{
	static const char *const buses[] = { "41", "61" };
	_cleanup_(evidence_unrefp) Evidence *seen = NULL;
	Declarations *none = xcalloc(1, sizeof(*none));
	JobRequest release = release_request("pair0");
	Rules *declared, *rules = NULL;
	_cleanup_free_ char *now = NULL;
	Known known;

	assigned(rig, NULL);
	fake_shut_off(&rig->fake, "vm42");
	rules = rules_new(&POLICY_DEFAULT, none);
	declared = rig->place.rules;
	rig->place.rules = rules;
	known_open(&known, rig);
	seen = evidence_new();
	for (size_t i = 0; i < ELEMENTS(buses); i++) {
		Sighting s = { .way = WAY_NVML, .seen_usec = 1, .device = 0x1234 };

		s.bdf.bus = (uint8_t)strtoul(buses[i], NULL, 16);
		assert_int_equal(evidence_add(seen, &s), 0);
	}
	assert_int_equal(topology_store_update(&known.store, seen, true), 0);
	now = shown(&known, rig, "pair0");
	assert_string_equal(now, "degraded 0; ");
	rig_must(rig, &release);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	known_close(&known, rig);
	rig->place.rules = declared;
	rules_unref(rules);
}

TEST_WITH(links_are_measured_on_request_and_change_no_verdict, rig_setup, rig_teardown)
{
	static const struct {
		const char *guest, *workload;
		bool wanted;
		Verdict verdict;
	} rows[] = {
		{ "ga102-rtx-a6000", "", false, VERDICT_VERIFIED },
		{ "ga102-rtx-a6000", "pass none", true, VERDICT_VERIFIED },
		{ "ga102-half", "slow pcie-speed", true, VERDICT_DEGRADED },
		{ "ga102-no-bridge", "unknown no-program", true, VERDICT_BROKEN },
		{ "no-driver", "unknown not-run", true, VERDICT_UNKNOWN },
		{ NULL, "unknown not-run", true, VERDICT_UNKNOWN },
	};
	FakeDomain *domain = assigned(*state, NULL);
	Told told;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *workload = NULL;

		domain->guest = rows[i].guest;
		verify_with(*state, "vm42", rows[i].wanted, &told);
		assert_int_equal(told.state, JOB_DONE);
		assert_int_equal(told.verdict, rows[i].verdict);
		workload = workload_of(told.result);
		assert_string_equal(workload, rows[i].workload);
		told_clear(&told);
	}
}
