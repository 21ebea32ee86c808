/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verification as a job: what it tells the loop, and that it changes nothing. */
#include "rig/test.h"

#include <string.h>

#include "job/prepare.h"
#include "rig/job-rig.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Runs it on its thread; the world must be as before. */
static void verify_with(Rig *rig, const char *domain, bool workload, Told *told)
{
	rig_note_world(rig);
	rig_tell(rig, 9, &verify_request(domain, .workload = workload), told);
	rig_check_noted(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	/* It has nothing in hand, and no steps. */
	assert_int_equal(told->planned.n_functions, 0);
	assert_int_equal(told->planned.n_steps, 0);
	assert_false(told->planned.changed);
}

static void verify(Rig *rig, const char *domain, Told *told)
{
	verify_with(rig, domain, false, told);
}

/* The running vm42 with pair0 in it, and a guest. */
static FakeDomain *assigned(Rig *rig, const char *guest)
{
	FakeDomain *domain;

	rig_assigned(rig);
	fake_start(&rig->fake, "vm42");
	domain = fake_domain(&rig->fake, "vm42");
	domain->guest = guest;
	return domain;
}

/* "none": why the verdict is so. */
static char *cause_of(const char *json)
{
	_cleanup_json_ json_t *document = NULL;

	assert_int_equal(
		json_parse_document(json, strlen(json), "org.gpupass1.verify/1", &document, NULL),
		0);
	return strdup(json_string_value(json_object_get(document, "cause")));
}

/* Two words of a member, such as "pass none" of "workload"; "" where it is null. */
static char *words_of(const char *json, const char *member, const char *first, const char *second)
{
	_cleanup_json_ json_t *document = NULL;
	const json_t *object;

	assert_int_equal(json_parse(json, strlen(json), &document, NULL), 0);
	object = json_object_get(document, member);
	if (json_is_null(object))
		return strdup("");
	return strf("%s %s", json_string_value(json_object_get(object, first)),
		    json_string_value(json_object_get(object, second)));
}

static void expect(Told *told, Verdict verdict, const char *cause)
{
	_cleanup_free_ char *is = NULL;

	told_expect(told, JOB_DONE, NULL, NULL);
	is = cause_of(told->ended.result);
	if (told->ended.verdict != verdict || strcmp(is, cause) != 0)
		fail_msg("%s, %s: %s", verdict_to_string(told->ended.verdict), is,
			 told->ended.result);
	assert_string_equal(told->planned.group, "pair0");
	assert_int_equal(told->ended.n_functions, 2);
	told_clear(told);
}

ON_A_RIG(a_guest_that_stops_answering_proves_nothing)
{
	FakeDomain *domain = assigned(rig, "ga102-rtx-a6000");
	Told told;

	domain->guest_fails = GUEST_TIMEOUT;
	for (domain->guest_nth = 0; domain->guest_nth < VERIFY_RUNS; domain->guest_nth++) {
		verify(rig, "vm42", &told);
		expect(&told, VERDICT_UNKNOWN, "timeout");
	}
}

/* "0000:02:00.0 0000:01:00.0": where the guest has each of the group's GPUs. */
static char *places_of(const char *json)
{
	_cleanup_json_ json_t *document = NULL;
	_cleanup_strv_ char **places = NULL;
	const json_t *gpu;
	size_t i;

	assert_int_equal(json_parse(json, strlen(json), &document, NULL), 0);
	json_array_foreach (json_object_get(document, "gpus"), i, gpu)
		strv_append(&places,
			    str_or_empty(json_string_value(json_object_get(gpu, "guest_address"))));
	return strv_join(places, " ");
}

/* libvirt's addresses have the index of a controller, which need not be in the order of slots. */
ON_A_RIG(a_gpu_is_where_firmware_numbers_its_bus)
{
	FakeDomain *domain = assigned(rig, "ga102-rtx-a6000");
	char *first = strstr(domain->live_xml, "slot=\"0x03\" function=\"0x0\"");
	char *second = strstr(domain->live_xml, "slot=\"0x03\" function=\"0x1\"");
	_cleanup_free_ char *is = NULL;
	Told told;

	assert_true(first && second > first);
	memcpy(first, "slot=\"0x03\" function=\"0x1\"", strlen("slot=\"0x03\" function=\"0x1\""));
	memcpy(second, "slot=\"0x03\" function=\"0x0\"", strlen("slot=\"0x03\" function=\"0x0\""));
	verify(rig, "vm42", &told);
	is = places_of(told.ended.result);
	assert_string_equal(is, "0000:02:00.0 0000:01:00.0");
	told_clear(&told);
}

/* promise G9 */
ON_A_RIG(what_a_guest_sees_of_pcie_is_told_and_decides_nothing)
{
	FakeDomain *domain = assigned(rig, "ga102-rtx-a6000");
	_cleanup_free_ char *heard = NULL, *unasked = NULL;
	Told told;

	verify(rig, "vm42", &told);
	heard = words_of(told.ended.result, "topology", "state", "file");
	assert_string_equal(heard, "unknown unknown");
	expect(&told, VERDICT_VERIFIED, "none");
	domain->guest_fails = GUEST_NO_AGENT;
	domain->guest_nth = 0;
	verify(rig, "vm42", &told);
	unasked = words_of(told.ended.result, "topology", "state", "file");
	assert_string_equal(unasked, "");
	expect(&told, VERDICT_UNKNOWN, "no-agent");
}

ON_A_RIG(a_domain_that_does_not_run_with_the_gpus_is_not_asked)
{
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	fake_unplug_live(&rig->fake, "vm42", "0000:61:00.0");
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-attached");
	fake_shut_off(&rig->fake, "vm42");
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-running");
	assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 0);
}

static void detach_behind_the_back(Rig *rig)
{
	fake_unplug_live(&rig->fake, "vm42", "0000:61:00.0");
}

/* fault 55 */
/* Not verify(): the world does change, by another's hand. */
ON_A_RIG(what_was_seen_does_not_count_when_the_gpus_went_meanwhile)
{
	Told told;

	assigned(rig, "ga102-rtx-a6000");
	rig_at(rig, FAKE_GUEST_RUN, 1, detach_behind_the_back);
	rig_tell(rig, 9, &verify_request("vm42"), &told);
	expect(&told, VERDICT_UNKNOWN, "changed");
	verify(rig, "vm42", &told);
	expect(&told, VERDICT_UNKNOWN, "not-attached");
}

ON_A_RIG(what_cannot_be_asked_about_is_an_error)
{
	static const FakeFault lost = { .op = FAKE_GUEST_RUN,
					.nth = 1,
					.problem = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE };
	static const struct {
		const char *domain, *error, *words;
	} rows[] = {
		{ "vm99", ".NoSuchDomain", "cannot verify vm99: there is no domain" },
		{ "vm77", ".NotAssigned",
		  "cannot verify vm77 (3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777): vm77 has no group" },
		{ "vm42", ".LibvirtUnavailable", "cannot verify pair0 in vm42 (" VM42 "): " },
	};

	assigned(rig, "ga102-rtx-a6000");
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	fake_fail(&rig->fake, &lost);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(told_clear) Told told;

		verify(rig, rows[i].domain, &told);
		told_expect(&told, JOB_FAILED, rows[i].error, rows[i].words);
		assert_null(told.ended.result);
	}
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
	topology_store_close(&known->store);
	rig_remove_directory(known->directory);
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

static void expect_shown(Known *known, const Rig *rig, const char *expected)
{
	_cleanup_free_ char *now = shown(known, rig, "pair0");

	assert_string_equal(now, expected);
}

static void cancel_it(Rig *rig)
{
	assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), 1);
}

/* fault 62 */
ON_A_RIG(a_cancelled_verification_has_no_verdict_and_is_no_evidence)
{
	Known known;
	Told told;

	known_open(&known, rig);
	assigned(rig, "ga102-rtx-a6000");
	expect_shown(&known, rig, "assigned 0; declared 0");
	rig_let_cancel(rig);
	rig_at(rig, FAKE_GUEST_RUN, 1, cancel_it);
	/* The second time the guest is not asked at all. */
	for (unsigned i = 0; i < 2; i++) {
		verify(rig, "vm42", &told);
		told_expect(&told, JOB_CANCELLED, ".Cancelled", "user 54321 cancelled the job");
		assert_null(told.ended.result);
		assert_int_equal(rig->fake.calls[FAKE_GUEST_RUN], 1);
		told_clear(&told);
		expect_shown(&known, rig, "assigned 0; declared 0");
	}
	known_close(&known, rig);
}

/* fault L11 */
/* Links are measured on request, which changes no verdict. */
ON_A_RIG(what_a_guest_shows_is_its_verdict_and_evidence)
{
	static const struct {
		const char *guest;
		Verdict verdict;
		const char *cause, *shown;
		const char *workload; /* NULL: not asked for */
	} rows[] = {
		/* Nothing that was not told. */
		{ "no-driver", VERDICT_UNKNOWN, "no-driver", "assigned 0; declared 0",
		  "unknown not-run" },
		{ "ga102-rtx-a6000", VERDICT_VERIFIED, "none", "assigned 4; declared 0, guest 4",
		  NULL },
		{ "ga102-half", VERDICT_DEGRADED, "few-links", "degraded 2; declared 0, guest 2",
		  "slow pcie-speed" },
		{ "ga102-no-bridge", VERDICT_BROKEN, "no-nvlink", "degraded 0; declared 0, guest 0",
		  "unknown no-program" },
		{ "ga102-rtx-a6000", VERDICT_VERIFIED, "none", "assigned 4; declared 0, guest 4",
		  "pass none" },
		/* What was known stays. */
		{ NULL, VERDICT_UNKNOWN, "no-agent", "assigned 4; declared 0, guest 4",
		  "unknown not-run" },
		/* Nor does NVLink that the tenant turned off complain of the bridge. */
		{ "mig", VERDICT_BROKEN, "mig", "assigned 4; declared 0, guest 4", NULL },
		{ "confidential", VERDICT_BROKEN, "confidential-computing",
		  "assigned 4; declared 0, guest 4", NULL },
	};
	FakeDomain *domain = assigned(rig, NULL);
	Known known;
	Told told;

	known_open(&known, rig);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *workload = NULL;

		domain->guest = rows[i].guest;
		verify_with(rig, "vm42", rows[i].workload, &told);
		workload = words_of(told.ended.result, "workload", "verdict", "cause");
		assert_string_equal(workload, str_or_empty(rows[i].workload));
		expect(&told, rows[i].verdict, rows[i].cause);
		expect_shown(&known, rig, rows[i].shown);
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
	Known known;
	Told told;

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm43", "q35", NULL);
	known_open(&known, rig);
	for (size_t i = 0; i < ELEMENTS(guests); i++) {
		rig->row = guests[i];
		rig_must(rig, &ASSIGN);
		fake_start(&rig->fake, "vm42");
		fake_watch(&rig->fake);
		fake_domain(&rig->fake, "vm42")->guest = guests[i];
		verify(rig, "vm42", &told);
		told_clear(&told);
		fake_shut_off(&rig->fake, "vm42");
		rig_must(rig, &RELEASE);
		expect_shown(&known, rig, "free 0; declared 0");
		rig_must(rig, &assign_request("vm43", "pair0"));
		expect_shown(&known, rig, "assigned 0; declared 0");
		rig_must(rig, &release_request("vm43"));
	}
	known_close(&known, rig);
}

/* fault L13 */
ON_A_RIG(more_links_than_the_boards_have_are_told_and_not_believed)
{
	Known known;
	Told told;

	assigned(rig, "h100-pcie");
	known_open(&known, rig);
	verify(rig, "vm42", &told);
	assert_int_equal(told.note.kind, JOB_NOTE_LINKS);
	assert_string_equal(told.note.text, "vm42 tells of more links than the boards of pair0 "
					    "have: not believed");
	expect_shown(&known, rig, "assigned 0; declared 0");
	told_clear(&told);
	known_close(&known, rig);
}

/* fault L14 */
/* pair0 was probed and assigned; then boards came, and nothing that was seen counts any more. */
ON_A_RIG(an_assigned_group_is_released_by_its_name_when_its_evidence_is_stale)
{
	_cleanup_(evidence_unrefp) Evidence *seen = xcalloc(1, sizeof(Evidence));
	Known known;

	rig_assigned(rig);
	rig_declare(rig, "");
	known_open(&known, rig);
	for (int i = 0; i < 2; i++) {
		Sighting s = { .bdf = { .bus = i ? 0x61 : 0x41 },
			       .way = WAY_NVML,
			       .seen_usec = 1,
			       .device = 0x1234 };

		assert_int_equal(evidence_add(seen, &s), 0);
	}
	assert_int_equal(topology_store_update(&known.store, seen, true), 0);
	expect_shown(&known, rig, "degraded 0; ");
	rig_must(rig, &release_request("pair0"));
	assert_true(rig_is_home(rig));
	known_close(&known, rig);
}

/* ---- peer access ---- */

static void expect_peers(Rig *rig, bool workload, const char *wanted)
{
	_cleanup_free_ char *is = NULL;
	Told told;

	verify_with(rig, "vm42", workload, &told);
	is = words_of(told.ended.result, "peer_access", "verdict", "cause");
	if (strcmp(is, wanted) != 0)
		fail_msg("%s: %s", is, told.ended.result);
	told_clear(&told);
}

ON_A_RIG(peer_access_is_tested_when_asked_where_the_domain_is_to_have_it)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	FakeDomain *domain = assigned(rig, "ga102-rtx-a6000");
	const char *end;
	char *text;

	all = assignment_store_load(&rig->store);
	all->items[0]->peer_access = PEER_ACCESS_ON;
	assert_int_equal(assignment_store_save(&rig->store, all->items[0]), 0);
	expect_peers(rig, true, "not-proved not-given");
	end = strstr(domain->live_xml, "</domain>");
	text = strf("%.*s<q:override xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'>"
		    "<q:device alias='ua-gpupass-pair0-0'><q:frontend><q:property "
		    "name='x-nv-gpudirect-clique' type='unsigned' value='0'/></q:frontend>"
		    "</q:device><q:device alias='ua-gpupass-pair0-2'><q:frontend><q:property "
		    "name='x-nv-gpudirect-clique' type='unsigned' value='0'/></q:frontend>"
		    "</q:device></q:override></domain>",
		    (int)(end - domain->live_xml), domain->live_xml);
	free(domain->live_xml);
	domain->live_xml = text;
	expect_peers(rig, false, "not-proved not-asked");
	expect_peers(rig, true, "not-proved no-python");
	/* What an operator wrote by himself is not judged. */
	all->items[0]->peer_access = PEER_ACCESS_OFF;
	assert_int_equal(assignment_store_save(&rig->store, all->items[0]), 0);
	expect_peers(rig, true, "");
}
