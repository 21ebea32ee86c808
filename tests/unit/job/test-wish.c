/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an assignment was asked to apply stays asked, until it is released. */
#include "rig/test.h"

#include <string.h>

#include "core/drift/drift.h"
#include "job/drift-look.h"
#include "rig/domains.h"
#include "rig/job-rig.h"
#include "util/text.h"

#define NUMATUNE "<memory mode=\"preferred\" nodeset=\"0\"/>"
#define CPUSET "cpuset=\"0-31\""
#define BITS "<maxphysaddr mode=\"passthrough\"/>"
#define FIRMWARE "<loader type='pflash'>/ovmf.fd</loader>"
#define OWN "<numatune>\n    <memory mode='preferred' nodeset='0'/>\n  </numatune>\n  <os>"

/* The text with `old`, which must be in it, made `new`. */
static char *replaced(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);

	if (!at)
		fail_msg("there is no %s in:\n%s", old, text);
	return strf("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

static const char *definition(Rig *rig)
{
	return fake_domain(&rig->fake, "vm42")->config_xml;
}

static void edit(Rig *rig, const char *old, const char *new)
{
	_cleanup_free_ char *text = replaced(definition(rig), old, new);

	fake_set_config(&rig->fake, "vm42", text);
}

static void expect_in(Rig *rig, bool numatune, bool cpuset, bool bits)
{
	const struct {
		const char *text;
		bool wanted;
	} parts[] = { { NUMATUNE, numatune }, { CPUSET, cpuset }, { BITS, bits } };

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		const char *at = strstr(definition(rig), parts[i].text);

		if ((at != NULL) != parts[i].wanted)
			fail_msg("%s is %s in:\n%s", parts[i].text, at ? "" : "not",
				 definition(rig));
		if (at && strstr(at + 1, parts[i].text))
			fail_msg("%s is there twice:\n%s", parts[i].text, definition(rig));
	}
}

/* On two nodes, with firmware whose window is too small for the group. */
static void domain(Rig *rig)
{
	rig->fake.two_nodes = true;
	rig_shut_off(rig);
	edit(rig, "<boot dev=\"hd\"/>", FIRMWARE);
}

static void assign(Rig *rig, FitMode numa, FitMode fit)
{
	rig_must(rig, &assign_request("vm42", "pair0", .plan.numa = numa, .plan.fit = fit));
	fake_watch(&rig->fake);
}

static void assigned(Rig *rig)
{
	domain(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
}

static void reconcile(Rig *rig)
{
	rig_must(rig, &RECONCILE);
	rig_check_guests(rig, "reconcile");
}

/* Its only finding has these words; NULL: there is none. */
static void expect_drift(Rig *rig, const char *words)
{
	_cleanup_(drift_freep) Drift *drift = NULL;

	assert_int_equal(drift_look(&rig->place, NULL, &drift), 0);
	assert_int_equal(drift->n_items, words != NULL);
	if (words && !strstr(drift->items[0].what, words))
		fail_msg("%s", drift->items[0].what);
}

static void lose_hostdevs(Rig *rig)
{
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm42", pair0_bdfs[i]);
}

/* The definition from before the assignment, as out of a repository. */
static void define_anew(Rig *rig)
{
	_cleanup_free_ char *text = domain_fixture("q35"), *uefi = NULL;

	uefi = replaced(text, "<boot dev='hd'/>", FIRMWARE);
	fake_set_config(&rig->fake, "vm42", uefi);
}

static void lose_one(Rig *rig)
{
	fake_unplug(&rig->fake, "vm42", pair0_bdfs[3]);
}

static void lose_aliases(Rig *rig)
{
	fake_edit_hostdevs(&rig->fake, "vm42");
}

static void lose_all_and_what_was_applied(Rig *rig)
{
	lose_hostdevs(rig);
	edit(rig, BITS, "");
	edit(rig, NUMATUNE, "");
}

/* As an older version recorded it. */
static void make_record_old(Rig *rig)
{
	_cleanup_(assignments_freep) Assignments *all = assignment_store_load(&rig->store);

	assert_int_equal(all->n_items, 1);
	all->items[0]->apply_fit = all->items[0]->apply_numa = false;
	assert_int_equal(assignment_store_save(&rig->store, all->items[0]), 0);
}

static const struct {
	void (*lose)(Rig *rig);
	bool again;  /* drift says that it is applied again */
	bool learnt; /* an older record learns it from the definition */
} losses[] = {
	{ define_anew, true, false },			/* from an old file */
	{ lose_hostdevs, true, true },			/* detached */
	{ lose_all_and_what_was_applied, true, false }, /* made anew, but for the mark */
	{ lose_one, false, true },
	{ lose_aliases, false, true },
};

/* fault 56 */
TEST(what_was_applied_is_applied_again_with_the_group)
{
	for (size_t i = 0; i < 2 * ELEMENTS(losses); i++) {
		bool old = i % 2;
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		if (old && !losses[i / 2].learnt)
			continue;
		domain(rig);
		before = rig_world(rig);
		assign(rig, FIT_APPLY, FIT_APPLY);
		expect_in(rig, true, true, true);
		rig_note_world(rig);
		if (old)
			make_record_old(rig);
		losses[i / 2].lose(rig);
		if (!old)
			expect_drift(rig,
				     losses[i / 2].again ? "--fit=apply and --numa=apply" : "");
		reconcile(rig);
		expect_drift(rig, NULL);
		rig_check_noted(rig);
		rig_must(rig, &RELEASE);
		rig_check_world(rig, before, "released");
	}
}

TEST(only_what_was_asked_for_is_applied_again)
{
	static const struct {
		FitMode numa, fit;
		const char *words;
	} rows[] = {
		{ FIT_APPLY, FIT_ADVISE, "; --numa=apply of its assignment is applied again" },
		{ FIT_ADVISE, FIT_APPLY, "; --fit=apply of its assignment is applied again" },
		{ FIT_ADVISE, FIT_ADVISE, "has none of its functions" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		bool numa = rows[i].numa == FIT_APPLY, fit = rows[i].fit == FIT_APPLY;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		domain(rig);
		assign(rig, rows[i].numa, rows[i].fit);
		define_anew(rig);
		expect_drift(rig, rows[i].words);
		reconcile(rig);
		expect_in(rig, numa, numa, fit);
	}
}

/* fault 57 */
/* What somebody took out while our mark stood is not put back; release takes out the rest. */
ON_A_RIG(what_an_operator_took_out_or_changed_stays_so)
{
	assigned(rig);
	edit(rig, BITS, "");
	edit(rig, CPUSET, "cpuset=\"0-15\"");
	expect_drift(rig, NULL);
	lose_one(rig);
	reconcile(rig);
	expect_in(rig, true, false, false);
	assert_non_null(strstr(definition(rig), "cpuset=\"0-15\""));
	rig_must(rig, &RELEASE);
	expect_in(rig, false, false, false);
	assert_non_null(strstr(definition(rig), "cpuset=\"0-15\""));
}

ON_A_RIG(what_an_operator_had_before_stays)
{
	domain(rig);
	edit(rig, "<os>", OWN);
	rig_note_world(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
	assert_non_null(strstr(definition(rig), CPUSET));
	define_anew(rig);
	edit(rig, "<os>", OWN);
	reconcile(rig);
	rig_must(rig, &RELEASE);
	rig_check_noted(rig);
}

ON_A_RIG(asked_for_again_it_is_written_again_and_once)
{
	domain(rig);
	assign(rig, FIT_ADVISE, FIT_ADVISE);
	expect_in(rig, false, false, false);
	assign(rig, FIT_APPLY, FIT_ADVISE);
	expect_in(rig, true, true, false);
	assign(rig, FIT_ADVISE, FIT_APPLY);
	expect_in(rig, true, true, true);
	edit(rig, BITS, "");
	assign(rig, FIT_ADVISE, FIT_APPLY);
	expect_in(rig, true, true, true);
	rig_note_world(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
	assert_false(rig->last.changed);
	/* Advice asks for nothing, and takes nothing back. */
	assign(rig, FIT_ADVISE, FIT_ADVISE);
	rig_check_noted(rig);
	define_anew(rig);
	reconcile(rig);
	rig_check_noted(rig);
}

ON_A_RIG(a_lost_record_is_written_with_it)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;

	domain(rig);
	assign(rig, FIT_ADVISE, FIT_APPLY);
	rig_lose_record(rig);
	reconcile(rig);
	all = assignment_store_load(&rig->store);
	assert_int_equal(all->n_items, 1);
	assert_true(all->items[0]->apply_fit);
	assert_false(all->items[0]->apply_numa);
}

ON_A_RIG(an_assignment_to_the_running_guest_alone_keeps_it_for_later)
{
	rig->fake.two_nodes = true;
	rig_running(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.live = true, .plan.numa = FIT_APPLY));
	expect_in(rig, false, false, false);
	expect_drift(rig, NULL);
	fake_shut_off(&rig->fake, "vm42");
	reconcile(rig);
	expect_in(rig, true, true, false);
}

ON_A_RIG(a_plan_of_reconcile_shows_what_is_applied)
{
	const Plan *plan;
	size_t applied = 0;

	assigned(rig);
	define_anew(rig);
	plan = rig_plan(rig, &RECONCILE);
	for (size_t i = 0; i < plan->fit->n_items; i++)
		applied += plan->fit->items[i].id == FIT_APPLIED;
	assert_int_equal(applied, 3);
	assert_non_null(strstr(plan->xml_after, NUMATUNE));
}

static void retitle(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "edited meanwhile");
}

/* The undo puts the group into somebody else's text; what was applied comes with reconcile. */
ON_A_RIG(a_release_undone_beside_an_editor_leaves_it_to_reconcile)
{
	assigned(rig);
	rig_at(rig, FAKE_RESET, 1, retitle);
	rig->fake.reset_fault = (FakeResetFault){ .bdf = pair0_bdfs[0], .result = RESET_FAILED };
	assert_int_equal(rig_try(rig, &RELEASE)->state, JOB_FAILED);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
	expect_in(rig, false, false, false);
	expect_drift(rig, "are applied again");
	reconcile(rig);
	expect_in(rig, true, true, true);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
}

/* Both ways: what libvirt had done before it broke is undone, too. */
TEST(what_is_asked_for_again_is_undone_to_what_was_before)
{
	for (unsigned late = 0; late < 2; late++) {
		const FakeFault fault = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .late = late,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
		_cleanup_(rig_freep) Rig *rig = rig_new();

		domain(rig);
		assign(rig, FIT_APPLY, FIT_ADVISE);
		fake_fail(&rig->fake, &fault);
		rig_fails(rig, &assign_request("vm42", "pair0", .plan.fit = FIT_APPLY),
			  GPUPASS_ERROR_DEFINE_FAILED, "");
	}
}

/* It was assigned before, and stays so. */
ON_A_RIG(what_is_asked_for_again_is_never_undone_to_no_group)
{
	/* The look behind the definition. */
	const FakeFault fault = { .op = FAKE_GET, .nth = 4, .problem = GPUPASS_ERROR_INTERNAL };

	domain(rig);
	assign(rig, FIT_ADVISE, FIT_ADVISE);
	fake_fail(&rig->fake, &fault);
	rig_at(rig, FAKE_GET, 4, retitle);
	rig_try(rig, &assign_request("vm42", "pair0", .plan.fit = FIT_APPLY));
	assert_int_equal(rig->last.state, JOB_FAILED);
	assert_true(rig->last.rolled_back);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
	assert_non_null(strstr(definition(rig), "ua-gpupass-pair0-3"));
	expect_drift(rig, NULL);
}

/* ---- peer access over PCIe ---- */

#define CLIQUE "<qemu:property name=\"x-nv-gpudirect-clique\" type=\"unsigned\" value=\"0\"/>"

static void expect_peers(Rig *rig, size_t wanted)
{
	size_t n = 0;

	for (const char *at = definition(rig); (at = strstr(at, CLIQUE)); at++)
		n++;
	if (n != wanted)
		fail_msg("%zu of them in:\n%s", n, definition(rig));
}

static void on_kvm(Rig *rig)
{
	rig->fake.new_libvirt = true;
	rig_shut_off(rig);
	edit(rig, "type=\"qemu\"", "type=\"kvm\"");
}

static void assigned_with_peers(Rig *rig)
{
	on_kvm(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.peer_access = PEER_ACCESS_ON));
	fake_watch(&rig->fake);
	expect_peers(rig, 2);
}

ON_A_RIG(peer_access_is_there_until_the_release)
{
	_cleanup_free_ char *before = NULL;

	on_kvm(rig);
	before = strdup(definition(rig));
	rig_must(rig, &assign_request("vm42", "pair0", .plan.peer_access = PEER_ACCESS_ON));
	expect_peers(rig, 2);
	expect_drift(rig, NULL);
	lose_hostdevs(rig);
	reconcile(rig);
	expect_peers(rig, 2);
	rig_must(rig, &RELEASE);
	assert_string_equal(definition(rig), before);
}

ON_A_RIG(peer_access_that_a_board_has_lost_is_drift_and_is_mended)
{
	assigned_with_peers(rig);
	edit(rig, "qemu:device alias=\"ua-gpupass-pair0-0\"", "qemu:device alias=\"ua-other\"");
	expect_drift(rig, "does not give 0000:41:00.0 the peer access");
	reconcile(rig);
	expect_drift(rig, NULL);
	expect_peers(rig, 3);
}

static void others_edit_it(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "by hand");
}

ON_A_RIG(the_undo_of_a_release_gives_peer_access_back)
{
	static const FakeFault first = { .op = FAKE_INSPECT, .nth = 1, .error = -EIO };

	assigned_with_peers(rig);
	rig_plan(rig, &RELEASE);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &first);
	rig_at(rig, FAKE_INSPECT, 1, others_edit_it);
	rig_go(rig);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_PART_FAILED, "");
	expect_peers(rig, 2);
	fake_watch(&rig->fake);
	expect_drift(rig, NULL);
}

/* Whether it had the group before decides nothing of that. */
TEST(an_assign_that_is_undone_beside_an_editor_gives_no_peer_access)
{
	for (unsigned had = 0; had < 2; had++) {
		/* The look behind the definition. */
		const FakeFault fault = { .op = FAKE_GET,
					  .nth = 4,
					  .problem = GPUPASS_ERROR_INTERNAL };
		_cleanup_(rig_freep) Rig *rig = rig_new();

		on_kvm(rig);
		if (had)
			assign(rig, FIT_ADVISE, FIT_ADVISE);
		fake_watch(&rig->fake);
		fake_fail(&rig->fake, &fault);
		rig_at(rig, FAKE_GET, 4, retitle);
		rig_try(rig, &assign_request("vm42", "pair0", .plan.peer_access = PEER_ACCESS_ON));
		assert_true(rig->last.rolled_back);
		assert_non_null(strstr(definition(rig), "edited meanwhile"));
		expect_peers(rig, 0);
		rig_expect_devices(rig, "vm42", had ? 4 : 0, 0);
		expect_drift(rig, NULL);
	}
}

static void libvirt_drops_it(Rig *rig)
{
	edit(rig, CLIQUE, "");
}

ON_A_RIG(a_libvirt_that_drops_peer_access_is_noticed)
{
	on_kvm(rig);
	rig_plan(rig, &assign_request("vm42", "pair0", .plan.peer_access = PEER_ACCESS_ON));
	fake_watch(&rig->fake);
	rig_at(rig, FAKE_GET, 1, libvirt_drops_it);
	rig_go(rig);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_DEFINE_FAILED, "did not keep the peer access");
	expect_peers(rig, 0);
}
