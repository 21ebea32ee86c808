/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group that was assigned by one name, and is declared by another since. */
#include "rig/test.h"

#include <string.h>

#include "core/drift/drift.h"
#include "job/drift-look.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const char *const functions[] = { PAIR0_FUNCTIONS };

#define VM42 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"

static void declare(Rig *rig, const char *text)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Declarations *declarations = calloc(1, sizeof(*declarations));

	assert_non_null(declarations);
	assert_int_equal(declarations_parse(declarations, "groups.d/test.conf", text, &problem), 0);
	rules_unref(rig->rules);
	rig->rules = rules_new(&POLICY_DEFAULT, declarations);
	rig->place.rules = rig->rules;
}

static void declare_gold(Rig *rig)
{
	declare(rig, "[Group]\nName=gold\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"
		     "[Group]\nName=pair1\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n");
}

/* Assigned as pair0, and called gold now. *ret_before: the world before; may be NULL. */
static void renamed(Rig *rig, char **ret_before)
{
	JobRequest request = assign_request("vm42", "pair0");

	rig->fake.two_nodes = true;
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	if (ret_before)
		*ret_before = rig_world(rig);
	request.numa = FIT_APPLY;
	rig_must(rig, &request);
	fake_watch(&rig->fake);
	declare_gold(rig);
}

static void expect_drift(Rig *rig, const char *wanted)
{
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_strv_ char **words = NULL;
	_cleanup_free_ char *found = NULL;

	assert_int_equal(drift_look(&rig->place, NULL, &drift), 0);
	for (size_t i = 0; i < drift->n_items; i++) {
		assert_string_equal(drift->items[i].group, "gold");
		strv_appendf(&words, "%s/%s", drift_kind_to_string(drift->items[i].kind),
			     drift_repair_to_string(drift->items[i].repair));
	}
	found = words ? strv_join(words, " ") : strdup("");
	assert_string_equal(found, wanted);
}

static char *recorded_name(Rig *rig)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	const Assignment *record;

	all = assignment_store_load(&rig->store);
	record = assignments_of_domain(all, VM42, &(size_t){ 0 });
	return record ? strdup(record->group_name) : NULL;
}

static void expect_recorded(Rig *rig, const char *name)
{
	_cleanup_free_ char *recorded = recorded_name(rig);

	assert_string_equal(recorded, name);
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

	for (size_t i = 0; i < ELEMENTS(names); i++)
		for (unsigned twice = 0; twice < 2; twice++) {
			JobRequest mend = reconcile_request("gold");
			JobRequest request = release_request(names[i]);
			_cleanup_free_ char *before = NULL;
			_cleanup_(rig_freep) Rig *rig = rig_new();

			renamed(rig, &before);
			if (twice && i > 0)
				rig_must(rig, &mend);
			rig_must(rig, &request);
			rig_check_world(rig, before, names[i]);
			rig_check_guests(rig, names[i]);
		}
}

/* fault 58 */
TEST(reconcile_brings_the_new_name_everywhere)
{
	static const char *const names[] = { "pair0", "gold" };

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		JobRequest request = reconcile_request(names[i]);
		_cleanup_(rig_freep) Rig *rig = rig_new();

		renamed(rig, NULL);
		expect_drift(rig, "renamed/define");
		expect_recorded(rig, "pair0");
		rig_must(rig, &request);
		expect_drift(rig, "");
		expect_recorded(rig, "gold");
		assert_false(defined_as(rig, "pair0"));
		assert_true(defined_as(rig, "ua-gpupass-gold-0"));
		/* What was applied, and what tells of it, has stayed. */
		assert_true(defined_as(rig, "nodeset=\"0\""));
		assert_true(defined_as(rig, "what=\"numatune\""));
	}
}

ON_A_RIG(assigning_it_again_does_the_same)
{
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(outcome_clear) Outcome outcome;

	renamed(rig, NULL);
	rig_must(rig, &request);
	expect_drift(rig, "");
	expect_recorded(rig, "gold");
	request.group = (char *)"gold";
	outcome = rig_run(rig, &request);
	assert_false(outcome.changed);
}

TEST(nobody_else_gets_it_by_either_name)
{
	static const char *const names[] = { "pair0", "gold" };

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		JobRequest request = assign_request("vm77", names[i]);
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		renamed(rig, NULL);
		fake_add_domain(&rig->fake, "vm77", "q35", NULL);
		outcome = rig_run(rig, &request);
		rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "vm42");
	}
}

/* As the daemon does at its start: the record keeps the name that the definition has. */
ON_A_RIG(a_record_is_not_ahead_of_its_definition)
{
	JobRequest request = reconcile_request("gold");

	renamed(rig, NULL);
	fake_rename(&rig->fake, "vm42", "vm99");
	request.only_record = true;
	rig_must(rig, &request);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	expect_recorded(rig, "pair0");
	expect_drift(rig, "renamed/define");
}

ON_A_RIG(a_guest_that_alone_has_it_is_renamed_in_the_record)
{
	JobRequest request = assign_request("vm42", "pair0");
	JobRequest mend = reconcile_request("gold");
	_cleanup_free_ char *live = NULL;

	fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", "q35-eight-ports-live");
	request.live = true;
	rig_must(rig, &request);
	live = strdup(fake_domain(&rig->fake, "vm42")->live_xml);
	declare_gold(rig);
	fake_watch(&rig->fake);
	expect_drift(rig, "renamed/rename");
	mend.only_record = true;
	rig_must(rig, &mend);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	expect_recorded(rig, "gold");
	expect_drift(rig, "");
	assert_string_equal(live, fake_domain(&rig->fake, "vm42")->live_xml);
}

TEST(other_drift_is_mended_with_it)
{
	static const char *const drifts[] = { "renamed/define lacks-all/define",
					      "renamed/define lacks-some/define",
					      "renamed/define edited/define",
					      "renamed/define driver/bind" };

	for (size_t i = 0; i < ELEMENTS(drifts); i++) {
		JobRequest mend = reconcile_request("gold"), request = release_request("gold");
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();

		renamed(rig, &before);
		for (size_t k = 0; k < (i == 0 ? ELEMENTS(functions) : i == 1); k++)
			fake_unplug(&rig->fake, "vm42", functions[k]);
		if (i == 2)
			fake_edit_hostdevs(&rig->fake, "vm42");
		if (i == 3)
			fake_set_driver(&rig->fake, functions[0], "nvidia", NULL);
		expect_drift(rig, drifts[i]);
		rig_must(rig, &mend);
		expect_drift(rig, "");
		expect_recorded(rig, "gold");
		assert_true(defined_as(rig, "nodeset=\"0\""));
		rig_must(rig, &request);
		rig_check_world(rig, before, drifts[i]);
	}
}

/* Also where libvirt had done it before it broke. */
TEST(what_fails_is_undone_to_the_old_name)
{
	static const Operation operations[] = { OPERATION_RECONCILE, OPERATION_RELEASE };

	for (size_t i = 0; i < 2 * ELEMENTS(operations); i++) {
		JobRequest request = operations[i / 2] == OPERATION_RELEASE
					     ? release_request("pair0")
					     : reconcile_request("pair0");
		const FakeFault fault = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .late = i % 2,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
		_cleanup_free_ char *before = NULL;
		_cleanup_(rig_freep) Rig *rig = rig_new();
		Outcome outcome;

		renamed(rig, NULL);
		before = rig_world(rig);
		fake_fail(&rig->fake, &fault);
		outcome = rig_run(rig, &request);
		assert_int_equal(outcome.state, JOB_FAILED);
		rig_check_world(rig, before, "undone");
		outcome_clear(&outcome);
	}
}

/* The old name is somebody else's now: it means that group, and nothing else. */
ON_A_RIG(a_name_that_another_group_has_means_that_one)
{
	JobRequest request = release_request("pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	renamed(rig, NULL);
	declare(rig, "[Group]\nName=gold\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"
		     "[Group]\nName=pair0\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n");
	before = rig_world(rig);
	outcome = rig_run(rig, &request);
	if (outcome.state != JOB_FAILED || outcome.error != GPUPASS_ERROR_NOT_ASSIGNED ||
	    !strstr(outcome.remedy, "gpupass release gold"))
		fail_msg("%s", str_or_empty(outcome.message));
	outcome_clear(&outcome);
	rig_check_world(rig, before, "another pair0");
	/* Which is free, though vm42 is marked by that name. */
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	request = assign_request("vm77", "pair0");
	rig_must(rig, &request);
	rig_check_guests(rig, "another pair0");
	request = release_request("vm42");
	rig_must(rig, &request);
	request = release_request("pair0");
	rig_must(rig, &request);
}
