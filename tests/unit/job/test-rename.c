/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group that was assigned by one name, and is declared by another since. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

#define MEND group_request(OPERATION_RECONCILE, "gold")

/* Assigned as pair0, and called gold now. The world before is noted. */
static void renamed(Rig *rig)
{
	rig->fake.two_nodes = true;
	rig_shut_off(rig);
	rig_note_world(rig);
	fake_undefine(&rig->fake, "vm42");
	rig_renamed(rig);
}

static void expect_recorded(Rig *rig, const char *name)
{
	_cleanup_(assignments_freep) Assignments *all = assignment_store_load(&rig->store);
	const Assignment *record = assignments_of_domain(all, VM42, &(size_t){ 0 });

	assert_non_null(record);
	assert_string_equal(record->group_name, name);
}

static bool defined_as(Rig *rig, const char *text)
{
	return strstr(fake_domain(&rig->fake, "vm42")->config_xml, text) != NULL;
}

/* fault 58 */
/* Nothing of ours stays behind, whichever name it bears. */
TEST(every_name_releases_it_whole)
{
	static const char *const names[] = { "pair0", "gold", "vm42", VM42 };

	for (size_t i = 0; i < 2 * ELEMENTS(names); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		renamed(rig);
		if (i > ELEMENTS(names)) /* and by any but the old one behind a reconcile */
			rig_must(rig, &MEND);
		rig_must(rig, &release_request(names[i % ELEMENTS(names)]));
		rig_check_noted(rig);
		rig_check_guests(rig, names[i % ELEMENTS(names)]);
	}
}

static void nothing(_unused_ Rig *rig)
{
}

static void lose_one(Rig *rig)
{
	fake_unplug(&rig->fake, "vm42", "0000:41:00.0");
}

static void lose_all(Rig *rig)
{
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm42", pair0_bdfs[i]);
}

static void edit(Rig *rig)
{
	fake_edit_hostdevs(&rig->fake, "vm42");
}

static void take_back(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", NULL);
}

/* fault 58 */
TEST(a_job_brings_the_new_name_everywhere_and_mends_other_drift_with_it)
{
	static const struct {
		void (*drift)(Rig *rig);
		const char *found;
		JobRequest request;
	} rows[] = {
		{ nothing, "renamed/define", MEND },
		{ nothing, "renamed/define", RECONCILE },
		{ nothing, "renamed/define", ASSIGN },
		{ lose_all, "renamed/define lacks-all/define", MEND },
		{ lose_one, "renamed/define lacks-some/define", MEND },
		{ edit, "renamed/define edited/define", MEND },
		{ take_back, "renamed/define driver/bind", MEND },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig->row = rows[i].found;
		renamed(rig);
		rows[i].drift(rig);
		rig_expect_drift(rig, rows[i].found);
		expect_recorded(rig, "pair0");
		rig_must(rig, &rows[i].request);
		rig_expect_drift(rig, "");
		expect_recorded(rig, "gold");
		assert_false(defined_as(rig, "pair0"));
		assert_true(defined_as(rig, "ua-gpupass-gold-0"));
		/* What was applied, and what tells of it, has stayed. */
		assert_true(defined_as(rig, "nodeset=\"0\""));
		assert_true(defined_as(rig, "what=\"numatune\""));
		rig_must(rig, &assign_request("vm42", "gold"));
		assert_false(rig->last.changed);
		rig_must(rig, &release_request("gold"));
		rig_check_noted(rig);
	}
}

ON_A_RIG(nobody_else_gets_it_by_either_name)
{
	renamed(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig_fails(rig, &assign_request("vm77", "pair0"), GPUPASS_ERROR_GROUP_BUSY, "vm42");
	rig_fails(rig, &assign_request("vm77", "gold"), GPUPASS_ERROR_GROUP_BUSY, "vm42");
}

/* As the daemon does at its start: the record keeps the name that the definition has. */
ON_A_RIG(a_record_is_not_ahead_of_its_definition)
{
	renamed(rig);
	fake_rename(&rig->fake, "vm42", "vm99");
	rig_must(rig, &group_request(OPERATION_RECONCILE, "gold", .plan.only_record = true));
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	expect_recorded(rig, "pair0");
	rig_expect_drift(rig, "renamed/define");
}

ON_A_RIG(a_guest_that_alone_has_it_is_renamed_in_the_record)
{
	_cleanup_free_ char *live = NULL;

	rig_running(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.live = true));
	live = strdup(fake_domain(&rig->fake, "vm42")->live_xml);
	rig_declare(rig, RIG_GOLD);
	fake_watch(&rig->fake);
	rig_expect_drift(rig, "renamed/rename");
	rig_must(rig, &group_request(OPERATION_RECONCILE, "gold", .plan.only_record = true));
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	expect_recorded(rig, "gold");
	rig_expect_drift(rig, "");
	assert_string_equal(live, fake_domain(&rig->fake, "vm42")->live_xml);
}

/* Also where libvirt had done it before it broke. */
TEST(what_fails_is_undone_to_the_old_name)
{
	for (unsigned i = 0; i < 4; i++) {
		const FakeFault fault = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .late = i % 2,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
		_cleanup_(rig_freep) Rig *rig = rig_new();

		renamed(rig);
		fake_fail(&rig->fake, &fault);
		rig_fails(rig, i < 2 ? &RECONCILE : &release_request("pair0"),
			  GPUPASS_ERROR_DEFINE_FAILED, "");
	}
}

/* The old name is somebody else's now: it means that group, and nothing else. */
ON_A_RIG(a_name_that_another_group_has_means_that_one)
{
	renamed(rig);
	rig_declare(rig, RIG_GOLD "[Group]\nName=pair0\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n");
	rig_fails(rig, &release_request("pair0"), GPUPASS_ERROR_NOT_ASSIGNED, "");
	assert_non_null(strstr(rig->last.remedy, "gpupass release gold"));
	/* Which is free, though vm42 is marked by that name. */
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig_must(rig, &assign_request("vm77", "pair0"));
	rig_check_guests(rig, "another pair0");
	rig_must(rig, &RELEASE);
	rig_must(rig, &release_request("pair0"));
}
