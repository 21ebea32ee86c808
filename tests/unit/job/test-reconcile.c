/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reconcile does on the model of a machine, and above all what it does not. */
#include "rig/test.h"

#include <string.h>

#include "core/drift/drift.h"
#include "job/drift-look.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const char *const functions[] = { PAIR0_FUNCTIONS };

static void assigned(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	rig_must(rig, &request);
	fake_watch(&rig->fake);
}

static void assigned_live(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", "q35-eight-ports-live");
	rig_must(rig, &request);
	fake_watch(&rig->fake);
}

static void lose_record(Rig *rig)
{
	rig_lose_record(rig);
}

/* "lacks-all/define"; "" when nothing has drifted. */
static char *drift_of(Rig *rig)
{
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_strv_ char **words = NULL;

	assert_int_equal(drift_look(&rig->place, NULL, &drift), 0);
	for (size_t i = 0; i < drift->n_items; i++)
		strv_appendf(&words, "%s/%s", drift_kind_to_string(drift->items[i].kind),
			     drift_repair_to_string(drift->items[i].repair));
	return words ? strv_join(words, " ") : strdup("");
}

static void expect_drift(Rig *rig, const char *wanted)
{
	_cleanup_free_ char *found = drift_of(rig);

	assert_string_equal(found, wanted);
}

static void mend(Rig *rig)
{
	JobRequest request = reconcile_request("pair0");

	rig_must(rig, &request);
	expect_drift(rig, "");
	rig_check_guests(rig, "reconcile");
}

/* ---- what it mends: the world is then as assign left it ---- */

TEST(what_drifted_is_brought_back_to_what_was_assigned)
{
	for (unsigned i = 0; i < 6; i++) {
		static const char *const drifts[] = {
			"driver/bind",	     "override/bind", "lacks-all/define",
			"lacks-some/define", "edited/define", "lacks-all/define driver/bind",
		};
		_cleanup_free_ char *before = NULL, *what = strf("row %u", i);
		_cleanup_(rig_freep) Rig *rig = rig_new();

		assigned(rig);
		before = rig_world(rig);
		if (i == 0 || i == 5)
			fake_set_driver(&rig->fake, functions[2], "nvidia", NULL);
		if (i == 1)
			fake_set_driver(&rig->fake, functions[1], "vfio-pci", NULL);
		for (size_t k = 0; (i == 2 || i == 5) && k < ELEMENTS(functions); k++)
			fake_unplug(&rig->fake, "vm42", functions[k]);
		if (i == 3)
			fake_unplug(&rig->fake, "vm42", functions[3]);
		if (i == 4)
			fake_edit_hostdevs(&rig->fake, "vm42");
		expect_drift(rig, drifts[i]);
		mend(rig);
		rig_check_world(rig, before, what);
	}
}

ON_A_RIG(a_record_that_is_missing_is_written_for_a_running_guest)
{
	_cleanup_free_ char *world = NULL;

	assigned_live(rig);
	lose_record(rig);
	expect_drift(rig, "no-record/record");
	mend(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	world = rig_world(rig);
	assert_non_null(strstr(world, "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242.json"));
}

ON_A_RIG(a_new_name_is_recorded_and_nothing_else)
{
	assigned_live(rig);
	fake_rename(&rig->fake, "vm42", "vm99");
	expect_drift(rig, "renamed/rename");
	mend(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}

/* As at the daemon's start. */
ON_A_RIG(only_the_record_is_written_when_no_more_is_asked)
{
	JobRequest request = reconcile_request("pair0");

	assigned(rig);
	lose_record(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
	fake_set_driver(&rig->fake, functions[0], "nvidia", NULL);
	request.only_record = true;
	rig_must(rig, &request);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	expect_drift(rig, "edited/define driver/bind");
}

/* ---- what it does not do ---- */

TEST(nothing_is_done_where_nothing_drifted)
{
	for (unsigned i = 0; i < 3; i++) {
		JobRequest request = reconcile_request("pair0");
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		if (i == 0)
			assigned(rig);
		else if (i == 1)
			assigned_live(rig);
		before = rig_world(rig);
		outcome = rig_run(rig, &request);
		assert_int_equal(outcome.state, JOB_DONE);
		assert_false(outcome.changed);
		rig_check_world(rig, before, "nothing drifted");
		outcome_clear(&outcome);
	}
}

ON_A_RIG(a_running_guest_keeps_its_functions_untouched)
{
	_cleanup_free_ char *live = NULL;

	assigned_live(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
	fake_set_driver(&rig->fake, functions[0], "vfio-pci", NULL);
	live = strdup(fake_domain(&rig->fake, "vm42")->live_xml);
	mend(rig);
	assert_string_equal(live, fake_domain(&rig->fake, "vm42")->live_xml);
	assert_int_equal(rig->fake.calls[FAKE_MOVE], 0);
	assert_int_equal(rig->fake.calls[FAKE_DETACH], 0);
	assert_int_equal(rig->fake.calls[FAKE_ATTACH], 0);
	assert_int_equal(rig->fake.calls[FAKE_DEFINE], 1);
}

/* The operator's wish was the running guest alone. */
ON_A_RIG(an_assignment_to_the_running_guest_alone_gets_no_definition)
{
	JobRequest request = assign_request("vm42", "pair0");

	fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", "q35-eight-ports-live");
	request.live = true;
	rig_must(rig, &request);
	expect_drift(rig, "");
	fake_watch(&rig->fake);
	mend(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	fake_shut_off(&rig->fake, "vm42");
	expect_drift(rig, "lacks-all/define");
}

static void take_from(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm77", "q35-eight-ports", "q35-eight-ports-live");
	fake_set_driver(&rig->fake, functions[3], "nvidia", NULL);
	fake_set_driver(&rig->fake, functions[3], "vfio-pci", "vfio-pci");
	fake_attach_to_definition(&rig->fake, "vm77", functions[3]);
}

static void hold(Rig *rig)
{
	fake_set_driver(&rig->fake, functions[0], "nvidia", NULL);
	fake_hold(&rig->fake, functions[0], "trainer");
}

static void unplug_one(Rig *rig)
{
	FakeDomain *domain;
	Bdf function;
	char *live;

	fake_start(&rig->fake, "vm42");
	domain = fake_domain(&rig->fake, "vm42");
	assert_int_equal(bdf_parse(functions[1], &function), 0);
	live = fake_xml_detach(domain->live_xml, &function);
	free(domain->live_xml);
	domain->live_xml = live;
}

static void lose_domain(Rig *rig)
{
	fake_undefine(&rig->fake, "vm42");
}

static void foreign_override(Rig *rig)
{
	fake_set_driver(&rig->fake, functions[0], "other", "other");
}

TEST(what_a_person_must_see_to_is_refused_with_nothing_changed)
{
	static const struct {
		const char *what;
		void (*arrange)(Rig *rig);
		GpupassError error;
		const char *words;
	} rows[] = {
		{ "another domain has a part", take_from, GPUPASS_ERROR_FOREIGN_OWNER, "vm77" },
		{ "a process uses what is on nvidia", hold, GPUPASS_ERROR_HOST_IN_USE, "trainer" },
		{ "the guest has a part", unplug_one, GPUPASS_ERROR_SPLIT_GROUP, "running vm42" },
		{ "the domain is gone", lose_domain, GPUPASS_ERROR_NO_SUCH_DOMAIN,
		  "gpupass release pair0" },
		{ "somebody else's override", foreign_override, GPUPASS_ERROR_DRIVER_CONFLICT,
		  "other" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobRequest request = reconcile_request("pair0");
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		assigned(rig);
		rows[i].arrange(rig);
		before = rig_world(rig);
		outcome = rig_run(rig, &request);
		if (outcome.state != JOB_FAILED || outcome.error != rows[i].error ||
		    !strstr(outcome.message, rows[i].words))
			fail_msg("%s: %s: %s", rows[i].what, job_state_to_string(outcome.state),
				 str_or_empty(outcome.message));
		rig_check_world(rig, before, rows[i].what);
		assert_int_equal(fake_write_calls(&rig->fake), 0);
		outcome_clear(&outcome);
	}
}

ON_A_RIG(a_foreign_domain_is_not_adopted)
{
	JobRequest request = reconcile_request("pair0");
	_cleanup_free_ char *before = NULL;
	_cleanup_(outcome_clear) Outcome outcome;

	fake_add_domain(&rig->fake, "vm77", "q35-eight-ports", "q35-eight-ports-live");
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_attach_to_definition(&rig->fake, "vm77", functions[i]);
	before = rig_world(rig);
	outcome = rig_run(rig, &request);
	assert_int_equal(outcome.state, JOB_DONE);
	assert_false(outcome.changed);
	rig_check_world(rig, before, "a foreign domain");
	expect_drift(rig, "");
}

/* ---- a guest that was killed ---- */

static void let_go(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_INSPECT || nth != 3)
		return;
	free(fake->holders[0].command);
	fake->n_holders = 0;
}

/* fault 35 */
/* libvirt says that it is shut off, and its process still has the functions open. */
ON_A_RIG(a_release_waits_until_the_process_of_a_killed_guest_is_gone)
{
	JobRequest request = release_request("vm42");

	assigned(rig);
	fake_hold(&rig->fake, functions[0], "qemu-system-x86");
	rig->fake.holders[0].vfio = true;
	rig->fake.hook = let_go;
	rig_must(rig, &request);
	assert_true(rig->fake.calls[FAKE_INSPECT] >= 3);
}
