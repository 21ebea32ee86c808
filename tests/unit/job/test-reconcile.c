/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reconcile does on the model of a machine, and above all what it does not. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

static void mend(Rig *rig)
{
	rig_must(rig, &RECONCILE);
	rig_expect_drift(rig, "");
	rig_check_guests(rig, "reconcile");
}

/* ---- what it mends: the world is then as assign left it ---- */

static void take_one_back(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:61:00.0", "nvidia", NULL);
}

static void lose_an_override(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.1", "vfio-pci", NULL);
}

static void lose_all(Rig *rig)
{
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm42", pair0_bdfs[i]);
}

static void lose_one(Rig *rig)
{
	fake_unplug(&rig->fake, "vm42", "0000:61:00.1");
}

static void edit(Rig *rig)
{
	fake_edit_hostdevs(&rig->fake, "vm42");
}

static void lose_all_and_take_one_back(Rig *rig)
{
	lose_all(rig);
	take_one_back(rig);
}

TEST(what_drifted_is_brought_back_to_what_was_assigned)
{
	static const struct {
		const char *drift;
		void (*make)(Rig *rig);
	} rows[] = {
		{ "driver/bind", take_one_back },
		{ "override/bind", lose_an_override },
		{ "lacks-all/define", lose_all },
		{ "lacks-some/define", lose_one },
		{ "edited/define", edit },
		{ "lacks-all/define driver/bind", lose_all_and_take_one_back },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig->row = rows[i].drift;
		rig_assigned(rig);
		rig_note_world(rig);
		rows[i].make(rig);
		rig_expect_drift(rig, rows[i].drift);
		mend(rig);
		rig_check_noted(rig);
	}
}

ON_A_RIG(a_record_that_is_missing_is_written_for_a_running_guest)
{
	rig_assigned_live(rig);
	rig_lose_record(rig);
	rig_expect_drift(rig, "no-record/record");
	mend(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	assert_true(rig_is_recorded(rig));
}

ON_A_RIG(a_new_name_is_recorded_and_nothing_else)
{
	rig_assigned_live(rig);
	fake_rename(&rig->fake, "vm42", "vm99");
	rig_expect_drift(rig, "renamed/rename");
	mend(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
}

/* As at the daemon's start. */
ON_A_RIG(only_the_record_is_written_when_no_more_is_asked)
{
	rig_assigned(rig);
	rig_lose_record(rig);
	edit(rig);
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", NULL);
	rig_must(rig, &group_request(OPERATION_RECONCILE, "pair0", .plan.only_record = true));
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	rig_expect_drift(rig, "edited/define driver/bind");
}

/* ---- what it does not do ---- */

static void nothing(_unused_ Rig *rig)
{
}

static void foreign_domain(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm77", "q35-eight-ports", "q35-eight-ports-live");
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_attach_to_definition(&rig->fake, "vm77", pair0_bdfs[i]);
}

TEST(nothing_is_done_where_nothing_drifted)
{
	static void (*const arrangements[])(Rig *) = { nothing, rig_assigned, rig_assigned_live,
						       foreign_domain };

	for (size_t i = 0; i < ELEMENTS(arrangements); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		arrangements[i](rig);
		rig_note_world(rig);
		mend(rig);
		assert_false(rig->last.changed);
		rig_check_noted(rig);
	}
}

ON_A_RIG(a_running_guest_keeps_its_functions_untouched)
{
	_cleanup_free_ char *live = NULL;

	rig_assigned_live(rig);
	edit(rig);
	fake_set_driver(&rig->fake, "0000:41:00.0", "vfio-pci", NULL);
	live = strdup(fake_domain(&rig->fake, "vm42")->live_xml);
	mend(rig);
	assert_string_equal(live, fake_domain(&rig->fake, "vm42")->live_xml);
	assert_int_equal(rig->fake.calls[FAKE_DEFINE], 1);
	assert_int_equal(fake_write_calls(&rig->fake), 1);
}

/* The operator's wish was the running guest alone. */
ON_A_RIG(an_assignment_to_the_running_guest_alone_gets_no_definition)
{
	rig_running(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.live = true));
	rig_expect_drift(rig, "");
	fake_watch(&rig->fake);
	mend(rig);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	fake_shut_off(&rig->fake, "vm42");
	rig_expect_drift(rig, "lacks-all/define");
}

static void take_from(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm77", "q35-eight-ports", "q35-eight-ports-live");
	fake_attach_to_definition(&rig->fake, "vm77", "0000:61:00.1");
}

static void hold(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", NULL);
	fake_hold(&rig->fake, "0000:41:00.0", "trainer");
}

static void unplug_one(Rig *rig)
{
	fake_start(&rig->fake, "vm42");
	fake_unplug_live(&rig->fake, "vm42", "0000:41:00.1");
}

static void lose_domain(Rig *rig)
{
	fake_undefine(&rig->fake, "vm42");
}

static void foreign_override(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "other", "other");
}

TEST(what_a_person_must_see_to_is_refused_with_nothing_changed)
{
	static const struct {
		void (*make)(Rig *rig);
		GpupassError error;
		const char *words;
	} rows[] = {
		{ take_from, GPUPASS_ERROR_FOREIGN_OWNER, "vm77" },
		{ hold, GPUPASS_ERROR_HOST_IN_USE, "trainer" },
		{ unplug_one, GPUPASS_ERROR_SPLIT_GROUP, "running vm42" },
		{ lose_domain, GPUPASS_ERROR_NO_SUCH_DOMAIN, "gpupass release pair0" },
		{ foreign_override, GPUPASS_ERROR_DRIVER_CONFLICT, "other" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig_assigned(rig);
		rows[i].make(rig);
		rig_fails(rig, &RECONCILE, rows[i].error, rows[i].words);
		assert_int_equal(fake_write_calls(&rig->fake), 0);
	}
}

/* ---- a guest that was killed ---- */

static void let_go(Rig *rig)
{
	fake_let_go(&rig->fake);
}

/* fault 35 */
/* libvirt says that it is shut off, and its process still has the functions open. */
ON_A_RIG(a_release_waits_until_the_process_of_a_killed_guest_is_gone)
{
	rig_assigned(rig);
	fake_hold_by_guest(&rig->fake, "0000:41:00.0");
	rig_at(rig, FAKE_INSPECT, 3, let_go);
	rig_must(rig, &RELEASE);
	assert_true(rig->fake.calls[FAKE_INSPECT] >= 3);
}
