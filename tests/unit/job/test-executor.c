/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare() and execute() on a machine where nothing fails. */
#include "rig/test.h"

#include <string.h>

#include "job/steps.h"
#include "rig/job-rig.h"
#include "util/text.h"

static const char *const pair0[] = { PAIR0_FUNCTIONS };

static void expect_lines(char *const *lines, const char *const *expected)
{
	_cleanup_free_ char *is = strv_join(lines, "\n");
	_cleanup_free_ char *should = strv_join((char *const *)expected, "\n");

	assert_string_equal(is, should);
}

static void expect_hostdevs(Rig *rig, const char *domain, bool config, bool live)
{
	const FakeDomain *d = fake_domain(&rig->fake, domain);

	for (size_t i = 0; i < ELEMENTS(pair0); i++) {
		Bdf bdf;

		assert_int_equal(bdf_parse(pair0[i], &bdf), 0);
		assert_int_equal(fake_xml_has(d->config_xml, &bdf), config);
		assert_int_equal(fake_xml_has(d->live_xml, &bdf), live);
	}
}

static Rig *with_shut_off_domain(void **state)
{
	Rig *rig = *state;

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	return rig;
}

static Rig *with_running_domain(void **state)
{
	Rig *rig = *state;

	rig_running(rig);
	return rig;
}

TEST_WITH(a_shut_off_domain_gets_the_group_in_its_definition, rig_setup, rig_teardown)
{
	static const char *const steps[] = { "preflight: done", "bind vfio-pci: done",
					     "define: done",	"verify: done",
					     "record: done",	NULL };
	Rig *rig = with_shut_off_domain(state);
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome = rig_run(rig, &request);
	_cleanup_free_ char *world = NULL;

	assert_int_equal(outcome.state, JOB_DONE);
	assert_true(outcome.changed);
	assert_false(outcome.rolled_back);
	expect_lines(outcome.steps, steps);
	for (size_t i = 0; i < ELEMENTS(pair0); i++)
		assert_true(rig_is_on(rig, pair0[i], "vfio-pci", "vfio-pci"));
	assert_true(rig_is_on(rig, "0000:a1:00.0", "nvidia", ""));
	expect_hostdevs(rig, "vm42", true, false);
	world = rig_world(rig);
	assert_non_null(strstr(world, "file 3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242.json"));
	assert_non_null(strstr(world, "\"original_driver\": \"nvidia\""));
	outcome_clear(&outcome);
}

TEST_WITH(a_running_domain_gets_the_group_live_and_in_its_definition, rig_setup, rig_teardown)
{
	static const char *const steps[] = { "preflight: done",
					     "bind vfio-pci: done",
					     "attach: done",
					     "define: done",
					     "verify: done",
					     "record: done",
					     NULL };
	Rig *rig = with_running_domain(state);
	JobRequest request = assign_request("vm42", NULL); /* policy chooses pair0 */
	Outcome outcome = rig_run(rig, &request);

	assert_int_equal(outcome.state, JOB_DONE);
	expect_lines(outcome.steps, steps);
	expect_hostdevs(rig, "vm42", true, true);
	outcome_clear(&outcome);
}

TEST_WITH(functions_are_attached_in_order_and_detached_in_reverse, rig_setup, rig_teardown)
{
	static const char *const attached[] = { "move 0000:41:00.0 to vfio-pci, override vfio-pci",
						"move 0000:41:00.1 to vfio-pci, override vfio-pci",
						"move 0000:61:00.0 to vfio-pci, override vfio-pci",
						"move 0000:61:00.1 to vfio-pci, override vfio-pci",
						"attach 0000:41:00.0",
						"attach 0000:41:00.1",
						"attach 0000:61:00.0",
						"attach 0000:61:00.1",
						"define vm42",
						NULL };
	static const char *const detached[] = { "detach 0000:61:00.1",
						"detach 0000:61:00.0",
						"detach 0000:41:00.1",
						"detach 0000:41:00.0",
						"define vm42",
						"reset 0000:41:00.0",
						"reset 0000:41:00.1",
						"reset 0000:61:00.0",
						"reset 0000:61:00.1",
						"move 0000:41:00.0 to nvidia, override none",
						"move 0000:41:00.1 to snd_hda_intel, override none",
						"move 0000:61:00.0 to nvidia, override none",
						"move 0000:61:00.1 to snd_hda_intel, override none",
						NULL };
	Rig *rig = with_running_domain(state);
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("pair0");

	rig_must(rig, &assign);
	expect_lines(rig->fake.log, attached);
	fake_watch(&rig->fake);
	rig_must(rig, &release);
	expect_lines(rig->fake.log, detached);
}

/* Whether the domain runs, and what the functions were on before. */
TEST(assigning_and_releasing_leaves_the_world_as_it_was)
{
	static const struct {
		const char *config, *live;
		const char *driver, *override; /* of 0000:61:00.1 */
		const char *target;	       /* of the release */
	} rows[] = {
		{ "q35", NULL, "snd_hda_intel", NULL, "pair0" },
		{ "q35", NULL, NULL, NULL, "vm42" },
		{ "q35", NULL, "vfio-pci", "vfio-pci", "vm42" },
		{ "q35", NULL, "vfio-pci", NULL, "vm42" },
		{ "i440fx", NULL, "snd_hda_intel", NULL, "vm42" },
		{ "q35-other-tools", NULL, "snd_hda_intel", NULL, "vm42" },
		{ "q35-eight-ports", "q35-eight-ports-live", "snd_hda_intel", NULL, "pair0" },
		{ "q35-eight-ports", "q35-eight-ports-live", NULL, "vfio-pci", "vm42" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *before = NULL, *between = NULL, *what = strf("row %zu", i);
		JobRequest assign = assign_request("vm42", "pair0");
		JobRequest release = release_request(rows[i].target);
		Rig *rig = rig_new();

		fake_add_domain(&rig->fake, "vm42", rows[i].config, rows[i].live);
		fake_set_driver(&rig->fake, "0000:61:00.1", rows[i].driver, rows[i].override);
		before = rig_world(rig);
		rig_must(rig, &assign);
		between = rig_world(rig);
		assert_string_not_equal(before, between);
		rig_must(rig, &release);
		rig_check_world(rig, before, what);
		rig_free(rig);
	}
}

ON_A_RIG(binding_and_unbinding_leaves_the_world_as_it_was)
{
	static const char *const steps[] = { "preflight: done", "bind vfio-pci: done",
					     "verify: done", NULL };
	_cleanup_free_ char *before = NULL;
	JobRequest bind = bind_request("pair0"), unbind = unbind_request("pair0");
	Outcome outcome;

	before = rig_world(rig);
	outcome = rig_run(rig, &bind);
	assert_int_equal(outcome.state, JOB_DONE);
	expect_lines(outcome.steps, steps);
	for (size_t i = 0; i < ELEMENTS(pair0); i++)
		assert_true(rig_is_on(rig, pair0[i], "vfio-pci", "vfio-pci"));
	rig_must(rig, &unbind);
	rig_check_world(rig, before, "after the unbind");
	outcome_clear(&outcome);
}

TEST(doing_it_twice_changes_nothing_and_writes_nothing)
{
	static const struct {
		const char *live;
		Operation operation;
	} rows[] = {
		{ NULL, OPERATION_ASSIGN },
		{ "q35-eight-ports-live", OPERATION_ASSIGN },
		{ NULL, OPERATION_BIND },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobRequest request = rows[i].operation == OPERATION_BIND
					     ? bind_request("pair0")
					     : assign_request("vm42", "pair0");
		_cleanup_free_ char *before = NULL;
		Rig *rig = rig_new();
		Outcome again;

		fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", rows[i].live);
		rig_must(rig, &request);
		before = rig_world(rig);
		fake_watch(&rig->fake);
		again = rig_run(rig, &request);
		assert_int_equal(again.state, JOB_DONE);
		assert_false(again.changed);
		assert_null(again.steps);
		assert_int_equal(fake_write_calls(&rig->fake), 0);
		rig_check_world(rig, before, "the second time");
		outcome_clear(&again);
		rig_free(rig);
	}
}

TEST_WITH(what_drifted_is_put_right_by_assigning_again, rig_setup, rig_teardown)
{
	Rig *rig = with_shut_off_domain(state);
	JobRequest request = assign_request("vm42", "pair0");

	rig_must(rig, &request);
	fake_set_driver(&rig->fake, "0000:61:00.0", "nvidia", NULL);
	rig_must(rig, &request);
	/* The record keeps what was before the first time, not what drifted. */
	assert_true(rig_is_on(rig, "0000:61:00.0", "vfio-pci", "vfio-pci"));
	request = release_request("vm42");
	rig_must(rig, &request);
	assert_true(rig_is_on(rig, "0000:61:00.0", "nvidia", ""));
}

/* Its own guest has the functions open then, and nothing is written to them. */
TEST_WITH(a_lost_record_is_written_again_while_the_guest_runs, rig_setup, rig_teardown)
{
	static const char *const steps[] = { "verify: done", "record: done", NULL };
	Rig *rig = with_running_domain(state);
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_free_ char *world = NULL;
	Outcome outcome;

	rig_must(rig, &request);
	rig_lose_record(rig);
	outcome = rig_run(rig, &request);
	if (outcome.state != JOB_DONE)
		fail_msg("%s", outcome.message);
	expect_lines(outcome.steps, steps);
	world = rig_world(rig);
	assert_non_null(strstr(world, "4242.json"));
	outcome_clear(&outcome);
}

/* libvirt and QEMU unplug no function out of the slot it shares with another. */
TEST_WITH(a_domain_started_with_the_group_is_released_once_it_is_shut_off, rig_setup, rig_teardown)
{
	Rig *rig = with_shut_off_domain(state);
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	rig_must(rig, &assign);
	fake_start(&rig->fake, "vm42");
	before = rig_world(rig);
	outcome = rig_run(rig, &release);
	rig_check_world(rig, before, "a live release");
	rig_expect_failure(&outcome, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "multifunction slots");
	fake_shut_off(&rig->fake, "vm42");
	rig_must(rig, &release);
	expect_hostdevs(rig, "vm42", false, false);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_null(rig->fake.violations);
}

TEST_WITH(a_running_guest_keeps_what_only_its_definition_loses, rig_setup, rig_teardown)
{
	Rig *rig = with_running_domain(state);
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("vm42");
	_cleanup_free_ char *world = NULL;

	rig_must(rig, &assign);
	release.config = true;
	rig_must(rig, &release);
	expect_hostdevs(rig, "vm42", false, true);
	assert_true(rig_is_on(rig, "0000:41:00.0", "vfio-pci", "vfio-pci"));
	assert_null(rig->fake.violations);
	/* The wish is still on record: the release is not over. */
	world = rig_world(rig);
	assert_non_null(strstr(world, "4242.json"));
	fake_shut_off(&rig->fake, "vm42");
	release.config = false;
	rig_must(rig, &release);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
}

TEST_WITH(released_functions_can_stay_on_vfio, rig_setup, rig_teardown)
{
	Rig *rig = with_shut_off_domain(state);
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("pair0");

	rig_must(rig, &assign);
	release.keep_vfio = true;
	rig_must(rig, &release);
	expect_hostdevs(rig, "vm42", false, false);
	for (size_t i = 0; i < ELEMENTS(pair0); i++)
		assert_true(rig_is_on(rig, pair0[i], "vfio-pci", "vfio-pci"));
	rig_expect_failure(&(Outcome[]){ rig_run(rig, &release) }[0], GPUPASS_ERROR_NOT_ASSIGNED,
			   "cannot release pair0");
}

/* fault 31 */
TEST_WITH(a_group_whose_domain_is_gone_can_be_released, rig_setup, rig_teardown)
{
	Rig *rig = with_shut_off_domain(state);
	JobRequest assign = assign_request("vm42", "pair0"), release = release_request("pair0");
	_cleanup_free_ char *world = NULL;

	rig_must(rig, &assign);
	fake_undefine(&rig->fake, "vm42");
	rig_must(rig, &release);
	for (size_t i = 0; i < ELEMENTS(pair0); i++)
		assert_false(rig_is_on(rig, pair0[i], "vfio-pci", "vfio-pci"));
	world = rig_world(rig);
	assert_null(strstr(world, ".json"));
}

/* libvirt said yes, and the definition lacks a function all the same. */
static void lose_a_function(FakeHost *fake, FakeOp op, unsigned nth)
{
	(void)nth;
	if (op == FAKE_GET && fake->calls[FAKE_DEFINE] == 1)
		fake_unplug(fake, "vm42", "0000:61:00.0");
}

ON_A_RIG(a_step_is_done_by_what_is_seen_and_not_by_what_was_returned)
{
	JobRequest request = assign_request("vm42", "pair0");
	Outcome outcome;

	rig_shut_off(rig);
	rig->fake.hook = lose_a_function;
	outcome = rig_run(rig, &request);
	assert_true(strv_contains(outcome.steps, "define: failed"));
	assert_false(strv_contains(outcome.steps, "define: done"));
	rig_expect_failure(&outcome, GPUPASS_ERROR_ATTACH_FAILED, "0000:61:00.0 is not in the");
}

/* A step without a post-condition that others can ask for observes it in its act. */
TEST(every_step_names_its_evidence)
{
	static const StepKind observe_themselves[] = { STEP_PREFLIGHT, STEP_RESET, STEP_VERIFY,
						       STEP_PERSISTENCE_OFF, STEP_PERSISTENCE_ON };

	for (StepKind kind = 0; kind < STEP_KIND_MAX_; kind++) {
		bool itself = false;

		assert_false(str_is_empty(step_evidence(kind)));
		for (size_t i = 0; i < ELEMENTS(observe_themselves); i++)
			itself |= observe_themselves[i] == kind;
		if (itself == (step_ops(kind)->holds != NULL))
			fail_msg("%s", step_kind_to_string(kind));
	}
}
