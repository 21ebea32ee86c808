/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an assignment was asked to apply stays asked, until it is released. */
#include "rig/test.h"

#include <string.h>

#include "core/drift/drift.h"
#include "job/drift-look.h"
#include "rig/domains.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const char *const functions[] = { PAIR0_FUNCTIONS };

#define NUMATUNE "<memory mode=\"preferred\" nodeset=\"0\"/>"
#define CPUSET "cpuset=\"0-31\""
#define BITS "<maxphysaddr mode=\"passthrough\"/>"

/* The text with `old`, which must be in it, made `new`. */
static char *replaced(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	char *result;

	if (!at)
		fail_msg("there is no %s in:\n%s", old, text);
	result = strf("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
	return result;
}

static void edit(Rig *rig, const char *old, const char *new)
{
	_cleanup_free_ char *text = replaced(fake_domain(&rig->fake, "vm42")->config_xml, old, new);

	fake_set_config(&rig->fake, "vm42", text);
}

static const char *definition(Rig *rig)
{
	return fake_domain(&rig->fake, "vm42")->config_xml;
}

static void expect_in(Rig *rig, const char *what, bool numatune, bool cpuset, bool bits)
{
	const struct {
		const char *text;
		bool wanted;
	} parts[] = { { NUMATUNE, numatune }, { CPUSET, cpuset }, { BITS, bits } };

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		const char *at = strstr(definition(rig), parts[i].text);

		if ((at != NULL) != parts[i].wanted)
			fail_msg("%s: %s is %s in:\n%s", what, parts[i].text, at ? "" : "not",
				 definition(rig));
		if (at && strstr(at + 1, parts[i].text))
			fail_msg("%s: %s is there twice:\n%s", what, parts[i].text,
				 definition(rig));
	}
}

/* On two nodes, with firmware whose window is too small for the group. */
static void domain(Rig *rig)
{
	rig->fake.two_nodes = true;
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	edit(rig, "<boot dev=\"hd\"/>", "<loader type='pflash'>/ovmf.fd</loader>");
}

static void assign(Rig *rig, FitMode numa, FitMode fit)
{
	JobRequest request = assign_request("vm42", "pair0");

	request.numa = numa;
	request.fit = fit;
	rig_must(rig, &request);
	fake_watch(&rig->fake);
}

static void release(Rig *rig)
{
	JobRequest request = release_request("vm42");

	rig_must(rig, &request);
}

static void reconcile(Rig *rig)
{
	JobRequest request = reconcile_request("pair0");

	rig_must(rig, &request);
	rig_check_guests(rig, "reconcile");
}

/* The only finding's, or NULL. */
static char *drift_text(Rig *rig)
{
	_cleanup_(drift_freep) Drift *drift = NULL;

	assert_int_equal(drift_look(&rig->place, NULL, &drift), 0);
	assert_true(drift->n_items <= 1);
	return drift->n_items > 0 ? strdup(drift->items[0].what) : NULL;
}

static void lose_hostdevs(Rig *rig)
{
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_unplug(&rig->fake, "vm42", functions[i]);
}

/* The definition from before the assignment, as out of a repository. */
static void define_anew(Rig *rig)
{
	_cleanup_free_ char *text = domain_fixture("q35"), *uefi = NULL;

	uefi = replaced(text, "<boot dev='hd'/>", "<loader type='pflash'>/ovmf.fd</loader>");
	fake_set_config(&rig->fake, "vm42", uefi);
}

static void lose_one(Rig *rig)
{
	fake_unplug(&rig->fake, "vm42", functions[3]);
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

static const struct {
	const char *what;
	void (*lose)(Rig *rig);
	bool told; /* drift says that it is applied again */
} losses[] = {
	{ "made anew from an old file", define_anew, true },
	{ "all hostdevs detached", lose_hostdevs, true },
	{ "made anew, but for the mark", lose_all_and_what_was_applied, true },
	{ "one hostdev detached", lose_one, false },
	{ "hostdevs edited", lose_aliases, false },
};

/* fault 56 */
TEST(what_was_applied_is_applied_again_with_the_group)
{
	for (size_t i = 0; i < ELEMENTS(losses); i++) {
		_cleanup_free_ char *before = NULL, *assigned = NULL, *told = NULL, *none = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		domain(rig);
		before = rig_world(rig);
		assign(rig, FIT_APPLY, FIT_APPLY);
		expect_in(rig, "assign", true, true, true);
		assigned = rig_world(rig);
		losses[i].lose(rig);
		told = drift_text(rig);
		assert_non_null(told);
		if ((strstr(told, "--fit=apply and --numa=apply") != NULL) != losses[i].told)
			fail_msg("%s: %s", losses[i].what, told);
		reconcile(rig);
		none = drift_text(rig);
		assert_null(none);
		expect_in(rig, losses[i].what, true, true, true);
		rig_check_world(rig, assigned, losses[i].what);
		release(rig);
		rig_check_world(rig, before, losses[i].what);
	}
}

TEST(only_what_was_asked_for_is_applied_again)
{
	static const struct {
		FitMode numa, fit;
		const char *words;
	} rows[] = {
		{ FIT_APPLY, FIT_ADVISE, "; --numa=apply of its assignment" },
		{ FIT_ADVISE, FIT_APPLY, "; --fit=apply of its assignment" },
		{ FIT_ADVISE, FIT_ADVISE, "has none of its functions" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *told = NULL;
		bool numa = rows[i].numa == FIT_APPLY, fit = rows[i].fit == FIT_APPLY;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		domain(rig);
		assign(rig, rows[i].numa, rows[i].fit);
		define_anew(rig);
		told = drift_text(rig);
		assert_non_null(strstr(told, rows[i].words));
		assert_int_equal(strstr(told, "again") != NULL, numa || fit);
		reconcile(rig);
		expect_in(rig, rows[i].words, numa, numa, fit);
	}
}

/* fault 57 */
/* What somebody took out while our mark stood is not put back; release takes out the rest. */
ON_A_RIG(what_an_operator_took_out_or_changed_stays_so)
{
	domain(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
	edit(rig, BITS, "");
	edit(rig, CPUSET, "cpuset=\"0-15\"");
	assert_null(drift_text(rig));
	lose_one(rig);
	reconcile(rig);
	expect_in(rig, "reconcile", true, false, false);
	assert_non_null(strstr(definition(rig), "cpuset=\"0-15\""));
	release(rig);
	expect_in(rig, "release", false, false, false);
	assert_non_null(strstr(definition(rig), "cpuset=\"0-15\""));
}

ON_A_RIG(what_an_operator_had_before_stays)
{
	_cleanup_free_ char *before = NULL;

	domain(rig);
	edit(rig, "<os>",
	     "<numatune>\n    <memory mode='preferred' nodeset='0'/>\n  </numatune>\n  <os>");
	before = rig_world(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
	assert_non_null(strstr(definition(rig), CPUSET));
	define_anew(rig);
	edit(rig, "<os>",
	     "<numatune>\n    <memory mode='preferred' nodeset='0'/>\n  </numatune>\n  <os>");
	reconcile(rig);
	release(rig);
	rig_check_world(rig, before, "an operator's own numatune");
}

ON_A_RIG(asked_for_again_it_is_written_again_and_once)
{
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_free_ char *assigned = NULL;
	Outcome outcome;

	domain(rig);
	assign(rig, FIT_ADVISE, FIT_ADVISE);
	expect_in(rig, "advice", false, false, false);
	assign(rig, FIT_APPLY, FIT_ADVISE);
	expect_in(rig, "numa, too", true, true, false);
	assign(rig, FIT_ADVISE, FIT_APPLY);
	expect_in(rig, "fit, too", true, true, true);
	edit(rig, BITS, "");
	assign(rig, FIT_ADVISE, FIT_APPLY);
	expect_in(rig, "taken out, and asked for", true, true, true);
	assigned = rig_world(rig);
	request.numa = request.fit = FIT_APPLY;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_DONE);
	assert_false(outcome.changed);
	outcome_clear(&outcome);
	/* Advice asks for nothing, and takes nothing back. */
	assign(rig, FIT_ADVISE, FIT_ADVISE);
	rig_check_world(rig, assigned, "assigned again");
	define_anew(rig);
	reconcile(rig);
	rig_check_world(rig, assigned, "reconciled");
}

static Assignment *stored(Rig *rig)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	Assignment *copy = NULL;

	all = assignment_store_load(&rig->store);
	assert_int_equal(all->n_items, 1);
	copy = assignment_copy(all->items[0]);
	return copy;
}

/* As an older version recorded it. */
static void make_record_old(Rig *rig)
{
	_cleanup_(assignment_freep) Assignment *record = stored(rig);

	record->apply_fit = record->apply_numa = false;
	assert_int_equal(assignment_store_save(&rig->store, record), 0);
}

TEST(an_older_record_learns_it_from_the_definition)
{
	static void (*const lose[])(Rig *) = { lose_one, lose_aliases, lose_hostdevs };

	for (size_t i = 0; i < ELEMENTS(lose); i++) {
		_cleanup_free_ char *assigned = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		domain(rig);
		assign(rig, FIT_APPLY, FIT_APPLY);
		assigned = rig_world(rig);
		make_record_old(rig);
		lose[i](rig);
		reconcile(rig);
		rig_check_world(rig, assigned, "an older record");
	}
}

ON_A_RIG(a_lost_record_is_written_with_it)
{
	_cleanup_(assignment_freep) Assignment *record = NULL;

	domain(rig);
	assign(rig, FIT_ADVISE, FIT_APPLY);
	rig_lose_record(rig);
	reconcile(rig);
	record = stored(rig);
	assert_true(record->apply_fit);
	assert_false(record->apply_numa);
}

ON_A_RIG(an_assignment_to_the_running_guest_alone_keeps_it_for_later)
{
	JobRequest request = assign_request("vm42", "pair0");

	rig->fake.two_nodes = true;
	fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", "q35-eight-ports-live");
	request.live = true;
	request.numa = FIT_APPLY;
	rig_must(rig, &request);
	expect_in(rig, "live", false, false, false);
	assert_null(drift_text(rig));
	fake_shut_off(&rig->fake, "vm42");
	reconcile(rig);
	expect_in(rig, "shut off", true, true, false);
}

ON_A_RIG(a_plan_of_reconcile_shows_what_is_applied)
{
	JobRequest request = reconcile_request("pair0");
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	size_t applied = 0;
	Outcome outcome;

	domain(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
	define_anew(rig);
	outcome = rig_prepare(rig, &request, &prepared, &prefix);
	assert_non_null(prepared);
	for (size_t i = 0; i < prepared->plan->fit->n_items; i++)
		applied += prepared->plan->fit->items[i].id == FIT_APPLIED;
	assert_int_equal(applied, 3);
	assert_non_null(strstr(prepared->plan->xml_after, NUMATUNE));
	outcome_clear(&outcome);
	claims_release(rig->claims, rig->last_job);
}

static void retitle(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_RESET && nth == 1)
		fake_retitle(fake, "vm42", "edited meanwhile");
}

/* The undo puts the group into somebody else's text; what was applied comes with reconcile. */
ON_A_RIG(a_release_undone_beside_an_editor_leaves_it_to_reconcile)
{
	JobRequest request = release_request("vm42");
	_cleanup_free_ char *told = NULL;
	Outcome outcome;

	domain(rig);
	assign(rig, FIT_APPLY, FIT_APPLY);
	rig->fake.hook = retitle;
	rig->fake.reset_fault = (FakeResetFault){ .bdf = functions[0], .result = RESET_FAILED };
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	outcome_clear(&outcome);
	rig->fake.hook = NULL;
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
	expect_in(rig, "undone", false, false, false);
	told = drift_text(rig);
	assert_non_null(told);
	assert_non_null(strstr(told, "are applied again"));
	reconcile(rig);
	expect_in(rig, "reconciled", true, true, true);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
}

/* Both ways: what libvirt had done before it broke is undone, too. */
TEST(what_is_asked_for_again_is_undone_to_what_was_before)
{
	for (unsigned late = 0; late < 2; late++) {
		JobRequest request = assign_request("vm42", "pair0");
		const FakeFault fault = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .late = late,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		domain(rig);
		assign(rig, FIT_APPLY, FIT_ADVISE);
		before = rig_world(rig);
		fake_fail(&rig->fake, &fault);
		request.fit = FIT_APPLY;
		outcome = rig_run(rig, &request);
		assert_int_equal(outcome.state, JOB_FAILED);
		rig_check_world(rig, before, "undone");
		outcome_clear(&outcome);
	}
}

static void retitle_after_define(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_GET && nth == 4)
		fake_retitle(fake, "vm42", "edited meanwhile");
}

/* It was assigned before, and stays so. */
ON_A_RIG(what_is_asked_for_again_is_never_undone_to_no_group)
{
	const FakeFault fault = { .op = FAKE_GET, .nth = 4, .problem = GPUPASS_ERROR_INTERNAL };
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	domain(rig);
	assign(rig, FIT_ADVISE, FIT_ADVISE);
	fake_fail(&rig->fake, &fault);
	rig->fake.hook = retitle_after_define;
	request.fit = FIT_APPLY;
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_FAILED);
	assert_true(outcome.rolled_back);
	outcome_clear(&outcome);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
	assert_non_null(strstr(definition(rig), "ua-gpupass-pair0-3"));
	assert_null(drift_text(rig));
}
