/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tenants who choose the names of their domains with care gain nothing by it. */
#include "rig/test.h"

#include <string.h>

#include "job/verify.h"
#include "rig/job-rig.h"
#include "util/text.h"

#define VM77 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777"

/* Every way to write the UUID. */
static const char *const forms[] = {
	VM42,
	"3F0C9A52-6C2B-4A62-9A0E-0C1D5B8F4242",
	"3f0c9a526c2b4a629a0e0c1d5b8f4242",
	"3f0c9a52 6c2b 4a62 9a0e 0c1d5b8f4242",
};

static void add_vm77(Rig *rig, const char *name)
{
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	fake_rename(&rig->fake, "vm77", name);
}

/* vm42, and before it in libvirt's list a domain that is called by vm42's UUID. */
static void add_impostor(Rig *rig, const char *name)
{
	add_vm77(rig, name);
	rig_shut_off(rig);
}

static bool has_group(Rig *rig, const char *uuid)
{
	return fake_xml_has(fake_domain_of(&rig->fake, uuid)->config_xml, &(Bdf){ .bus = 0x41 });
}

/* It gets and gives pair0 by this word, and no other domain does. */
static void check_word(Rig *rig, const char *word)
{
	rig_must(rig, &assign_request(word, "pair0"));
	assert_true(has_group(rig, VM42));
	assert_false(has_group(rig, VM77));
	rig_must(rig, &release_request(word));
	assert_false(has_group(rig, VM42));
}

TEST(a_uuid_means_the_domain_that_has_it)
{
	for (size_t i = 0; i < ELEMENTS(forms) * ELEMENTS(forms); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		add_impostor(rig, forms[i / ELEMENTS(forms)]);
		check_word(rig, forms[i % ELEMENTS(forms)]);
	}
}

TEST(steps_work_on_the_planned_domain_whoever_has_its_uuid_for_a_name)
{
	for (int running = 0; running < 2; running++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		fake_add_domain(&rig->fake, "vm77", running ? "q35-eight-ports" : "q35",
				running ? "q35-eight-ports-live" : NULL);
		fake_rename(&rig->fake, "vm77", VM42);
		(running ? rig_running : rig_shut_off)(rig);
		check_word(rig, "vm42");
	}
}

ON_A_RIG(an_assign_that_fails_is_undone_in_the_planned_domain)
{
	static const FakeFault fails = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};

	add_impostor(rig, VM42);
	fake_fail(&rig->fake, &fails);
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_DEFINE_FAILED,
		  "cannot assign pair0 to vm42 (" VM42 "): ");
}

ON_A_RIG(an_interrupted_job_is_recovered_in_the_planned_domain)
{
	_cleanup_(prepared_freep) Prepared *prepared = NULL;

	add_impostor(rig, VM42);
	rig_note_world(rig);
	/* The daemon ended when it had bound and defined. */
	rig_leave_open(rig, STEP_VERIFY, &prepared);
	fake_set_config(&rig->fake, "vm42", prepared->plan->xml_after);
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", NULL); /* so that it is undone */
	rig_recover(rig, RECOVERED_UNDONE, NULL);
	rig_check_noted(rig);
}

/* The names are swapped when the plan is made: what was planned is what is done. */
static void swap_names(Rig *rig)
{
	fake_rename(&rig->fake, "vm42", "vm99");
	fake_rename(&rig->fake, "vm77", "vm42");
}

ON_A_RIG(a_domain_renamed_after_the_plan_is_still_the_planned_one)
{
	rig_two_domains(rig);
	rig_note_world(rig);
	rig_at(rig, FAKE_MOVE, 1, swap_names);
	rig_try(rig, &ASSIGN);
	/* libvirt's definition is no longer the one that was planned from: its name has changed. */
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_STALE_PLAN, VM42);
	assert_false(has_group(rig, VM42));
	assert_false(has_group(rig, VM77));
	fake_rename(&rig->fake, "vm42", "vm77");
	fake_rename(&rig->fake, "vm99", "vm42");
	rig_check_noted(rig);
}

ON_A_RIG(verify_asks_the_planned_domain)
{
	add_impostor(rig, VM42);
	rig_must(rig, &ASSIGN);
	fake_start(&rig->fake, "vm42");
	fake_domain(&rig->fake, "vm42")->guest = "ga102-rtx-a6000";
	for (size_t i = 0; i <= ELEMENTS(forms); i++) {
		const JobRequest request = verify_request(i == 0 ? "vm42" : forms[i - 1]);
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
	add_vm77(rig, VM42);
	rig_fails(rig, &assign_request(VM42, "pair0"), GPUPASS_ERROR_NO_SUCH_DOMAIN,
		  "there is no domain");
	assert_non_null(strstr(rig->last.remedy, "give its own UUID: " VM77));
	rig_must(rig, &assign_request(VM77, "pair0"));
	assert_true(has_group(rig, VM77));
}

ON_A_RIG(a_number_is_a_name)
{
	rig_running(rig);
	rig_fails(rig, &assign_request("7", "pair0"), GPUPASS_ERROR_NO_SUCH_DOMAIN,
		  "a number is taken for a name");
	add_vm77(rig, "7");
	rig_must(rig, &assign_request("7", "pair0"));
	assert_true(has_group(rig, VM77));
}

/* ---- what is released ---- */

static void refuses_to_guess(Rig *rig, const char *remedy)
{
	rig_fails(rig, &release_request("pair0"), GPUPASS_ERROR_INVALID_ARGUMENT,
		  "is a group and a domain that does not have it");
	assert_true(rig->last.remedy && strstr(rig->last.remedy, remedy));
}

ON_A_RIG(a_domain_named_as_a_group_neither_frees_it_nor_stands_for_it)
{
	rig_assigned(rig);
	add_vm77(rig, "pair0");
	refuses_to_guess(rig, "gpupass release " VM42);
	/* Also where it has another group, and where nobody has that one. */
	rig_must(rig, &assign_request(VM77, "pair1"));
	refuses_to_guess(rig, "gpupass release " VM42);
	rig_must(rig, &release_request(VM77));
	assert_true(has_group(rig, VM42));
	rig_must(rig, &RELEASE);
	refuses_to_guess(rig, "gpupass release " VM77);
}

ON_A_RIG(a_domain_named_as_the_group_that_it_has_can_be_released_by_that_name)
{
	add_vm77(rig, "pair0");
	rig_must(rig, &assign_request("pair0", "pair0"));
	assert_true(has_group(rig, VM77));
	rig_must(rig, &release_request("pair0"));
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
		{ VM42, assign_request("vm42", NULL), true },
		{ VM42, assign_request(VM42, NULL), true },
		{ VM77, assign_request("vm42", NULL), false },
		{ NULL, assign_request("vm42", NULL), false },
		{ VM42, release_request("vm43"), true },
		{ VM42, release_request("pair1"), true },
		{ VM77, release_request("pair1"), false },
		{ NULL, release_request("pair1"), false },
		{ VM77, release_request("vm43"), false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();
		JobRequest request = rows[i].request;

		rig_two_domains(rig);
		if (request.target) {
			rig_must(rig, &assign_request(VM42, "pair1"));
			fake_rename(&rig->fake, "vm42", "vm43");
		}
		request.permitted = true;
		request.permitted_uuid = (char *)rows[i].permitted;
		if (rows[i].runs)
			rig_must(rig, &request);
		else
			rig_fails(rig, &request, GPUPASS_ERROR_STALE_PLAN,
				  "is not the domain that was permitted");
	}
}
