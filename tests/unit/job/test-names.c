/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tenants who choose the names of their domains with care gain nothing by it. */
#include "rig/test.h"

#include <string.h>

#include "job/verify.h"
#include "rig/job-rig.h"
#include "util/text.h"

#define VM42 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define VM77 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777"

/* Every way to write the UUID. */
static const char *const forms[] = {
	VM42,
	"3F0C9A52-6C2B-4A62-9A0E-0C1D5B8F4242",
	"3f0c9a526c2b4a629a0e0c1d5b8f4242",
	"3f0c9a52 6c2b 4a62 9a0e 0c1d5b8f4242",
};

/* vm42, and before it in libvirt's list a domain that is called by vm42's UUID. */
static void add_impostor(Rig *rig, const char *name)
{
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
	fake_rename(&rig->fake, "vm77", name);
}

static bool has_group(Rig *rig, const char *uuid)
{
	return fake_xml_has(fake_domain_of(&rig->fake, uuid)->config_xml, &(Bdf){ 0, 0x41, 0, 0 });
}

TEST(a_uuid_means_the_domain_that_has_it)
{
	for (size_t i = 0; i < ELEMENTS(forms); i++) {
		for (size_t k = 0; k < ELEMENTS(forms); k++) {
			_cleanup_(rig_freep) Rig *rig = rig_new();
			JobRequest assign = assign_request(forms[i], "pair0");
			JobRequest release = release_request(forms[i]);

			add_impostor(rig, forms[k]);
			rig_must(rig, &assign);
			assert_true(has_group(rig, VM42));
			assert_false(has_group(rig, VM77));
			rig_must(rig, &release);
			assert_false(has_group(rig, VM42));
		}
	}
}

TEST(steps_work_on_the_planned_domain_whoever_has_its_uuid_for_a_name)
{
	for (unsigned running = 0; running < 2; running++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		JobRequest assign = assign_request("vm42", "pair0");
		JobRequest release = release_request("vm42");

		fake_add_domain(&rig->fake, "vm77", running ? "q35-eight-ports" : "q35",
				running ? "q35-eight-ports-live" : NULL);
		fake_rename(&rig->fake, "vm77", VM42);
		if (running)
			rig_running(rig);
		else
			rig_shut_off(rig);
		rig_must(rig, &assign);
		assert_true(has_group(rig, VM42));
		assert_false(has_group(rig, VM77));
		rig_must(rig, &release);
		assert_false(has_group(rig, VM42));
	}
}

ON_A_RIG(an_assign_that_fails_is_undone_in_the_planned_domain)
{
	static const FakeFault fails = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};
	JobRequest assign = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	add_impostor(rig, VM42);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, &fails);
	outcome = rig_run(rig, &assign);
	rig_expect_failure(&outcome, GPUPASS_ERROR_DEFINE_FAILED,
			   "cannot assign pair0 to vm42 (" VM42 "): ");
	rig_check_world(rig, before, "undone");
}

ON_A_RIG(an_interrupted_job_is_recovered_in_the_planned_domain)
{
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *before = NULL;

	add_impostor(rig, VM42);
	before = rig_world(rig);
	/* The daemon ended when it had bound and defined. */
	rig_leave_open(rig, STEP_VERIFY, &prepared);
	fake_set_config(&rig->fake, "vm42", prepared->plan->xml_after);
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", NULL); /* so that it is undone */
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	rig_check_world(rig, before, "recovered");
}

/* The names are swapped when the plan is made: what was planned is what is done. */
static void swap_names(FakeHost *fake, FakeOp op, _unused_ unsigned nth)
{
	if (op != FAKE_MOVE || fake_domain(fake, "vm99"))
		return;
	fake_rename(fake, "vm42", "vm99");
	fake_rename(fake, "vm77", "vm42");
}

ON_A_RIG(a_domain_renamed_after_the_plan_is_still_the_planned_one)
{
	JobRequest assign = assign_request("vm42", "pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig_shut_off(rig);
	before = rig_world(rig);
	rig->fake.hook = swap_names;
	outcome = rig_run(rig, &assign);
	/* libvirt's definition is no longer the one that was planned from: its name has changed. */
	rig_expect_failure(&outcome, GPUPASS_ERROR_STALE_PLAN, VM42);
	assert_false(has_group(rig, VM42));
	assert_false(has_group(rig, VM77));
	rig->fake.hook = NULL;
	fake_rename(&rig->fake, "vm42", "vm77");
	fake_rename(&rig->fake, "vm99", "vm42");
	rig_check_world(rig, before, "renamed");
}

ON_A_RIG(verify_asks_the_planned_domain)
{
	JobRequest assign = assign_request("vm42", "pair0");

	add_impostor(rig, VM42);
	rig_must(rig, &assign);
	fake_start(&rig->fake, "vm42");
	fake_domain(&rig->fake, "vm42")->guest = "ga102-rtx-a6000";
	for (size_t i = 0; i <= ELEMENTS(forms); i++) {
		JobRequest request = verify_request(i == 0 ? "vm42" : forms[i - 1]);
		_cleanup_(verification_freep) Verification *v = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *prefix = NULL;

		assert_int_equal(verification_new(&rig->place, &request, &v, &problem, &prefix), 0);
		assert_int_equal(verification_run(&rig->place, &request, v, &problem), 0);
		assert_int_equal(v->report->verdict, VERDICT_VERIFIED);
		assert_string_equal(v->found->domain->uuid, VM42);
	}
}

ON_A_RIG(a_name_in_the_form_of_a_uuid_is_reached_by_its_own_uuid)
{
	JobRequest by_name = assign_request(VM42, "pair0");
	JobRequest by_uuid = assign_request(VM77, "pair0");
	Outcome outcome;

	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	fake_rename(&rig->fake, "vm77", VM42);
	outcome = rig_run(rig, &by_name);
	assert_non_null(strstr(outcome.remedy, "give its own UUID: " VM77));
	rig_expect_failure(&outcome, GPUPASS_ERROR_NO_SUCH_DOMAIN, "there is no domain");
	rig_must(rig, &by_uuid);
	assert_true(has_group(rig, VM77));
}

ON_A_RIG(a_number_is_a_name)
{
	JobRequest assign = assign_request("7", "pair0");
	Outcome outcome;

	rig_running(rig);
	outcome = rig_run(rig, &assign);
	rig_expect_failure(&outcome, GPUPASS_ERROR_NO_SUCH_DOMAIN, "a number is taken for a name");
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	fake_rename(&rig->fake, "vm77", "7");
	rig_must(rig, &assign);
	assert_true(has_group(rig, VM77));
}

/* ---- what is released ---- */

/* pair0 is vm42's, and vm77 has this name. */
static void add_namesake(Rig *rig, const char *name)
{
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig_assigned(rig);
	fake_rename(&rig->fake, "vm77", name);
}

static void refuses_to_guess(Rig *rig, const char *target, const char *remedy)
{
	_cleanup_free_ char *before = rig_world(rig);
	JobRequest release = release_request(target);
	Outcome outcome = rig_run(rig, &release);

	if (!outcome.remedy || !strstr(outcome.remedy, remedy))
		fail_msg("%s", str_or_empty(outcome.message));
	rig_expect_failure(&outcome, GPUPASS_ERROR_INVALID_ARGUMENT,
			   "is a group and a domain that does not have it");
	rig_check_world(rig, before, target);
}

ON_A_RIG(a_domain_named_as_a_group_neither_frees_it_nor_stands_for_it)
{
	JobRequest own = assign_request(VM77, "pair1"), release;

	add_namesake(rig, "pair0");
	refuses_to_guess(rig, "pair0", "gpupass release " VM42);
	/* Also where it has another group, and where nobody has that one. */
	rig_must(rig, &own);
	refuses_to_guess(rig, "pair0", "gpupass release " VM42);
	release = release_request(VM77);
	rig_must(rig, &release);
	assert_true(has_group(rig, VM42));
	release = release_request("vm42");
	rig_must(rig, &release);
	refuses_to_guess(rig, "pair0", "gpupass release " VM77);
}

ON_A_RIG(a_domain_named_as_the_group_that_it_has_can_be_released_by_that_name)
{
	JobRequest assign = assign_request("pair0", "pair0"), release = release_request("pair0");

	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	fake_rename(&rig->fake, "vm77", "pair0");
	rig_must(rig, &assign);
	assert_true(has_group(rig, VM77));
	rig_must(rig, &release);
	assert_false(has_group(rig, VM77));
}

/* ---- what was permitted ---- */

TEST(a_job_runs_on_the_permitted_domain_only)
{
	static const struct {
		const char *permitted; /* NULL: there was none */
		JobRequest request;
		bool runs;
	} rows[] = {
		{ VM42, { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42" }, true },
		{ VM42, { .operation = OPERATION_ASSIGN, .domain = (char *)VM42 }, true },
		{ VM77, { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42" }, false },
		{ NULL, { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42" }, false },
		{ VM42, { .operation = OPERATION_RELEASE, .target = (char *)"vm43" }, true },
		{ VM42, { .operation = OPERATION_RELEASE, .target = (char *)"pair1" }, true },
		{ VM77, { .operation = OPERATION_RELEASE, .target = (char *)"pair1" }, false },
		{ NULL, { .operation = OPERATION_RELEASE, .target = (char *)"pair1" }, false },
		{ VM77, { .operation = OPERATION_RELEASE, .target = (char *)"vm43" }, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		JobRequest request = rows[i].request, other = assign_request(VM42, "pair1");
		_cleanup_free_ char *before = NULL;
		Outcome outcome;

		fake_add_domain(&rig->fake, "vm77", "q35", NULL);
		rig_shut_off(rig);
		if (request.target) {
			rig_must(rig, &other);
			fake_rename(&rig->fake, "vm42", "vm43");
		}
		before = rig_world(rig);
		request.permitted = true;
		request.permitted_uuid = (char *)rows[i].permitted;
		outcome = rig_run(rig, &request);
		if (rows[i].runs && outcome.state != JOB_DONE)
			fail_msg("row %zu: %s", i, outcome.message);
		if (!rows[i].runs) {
			rig_expect_failure(&outcome, GPUPASS_ERROR_STALE_PLAN,
					   "is not the domain that was permitted");
			rig_check_world(rig, before, "not permitted");
		}
		outcome_clear(&outcome);
	}
}
