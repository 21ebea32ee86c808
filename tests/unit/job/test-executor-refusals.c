/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prepare() and execute() where others are at work on the machine, too. */
#include "rig/test.h"

#include <string.h>

#include "rig/job-rig.h"
#include "util/text.h"

static Rig *with_shut_off_domain(void **state)
{
	Rig *rig = *state;

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	return rig;
}

static void hold_the_gpu(Rig *rig)
{
	fake_hold(&rig->fake, "0000:61:00.0", "python3");
}

static void load_a_driver(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "nouveau", NULL);
}

static void set_an_override(Rig *rig)
{
	fake_set_driver(&rig->fake, "0000:41:00.0", "nvidia", "pci-stub");
}

static void edit_the_definition(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "by hand");
}

static void none(_unused_ Rig *rig)
{
}

static void assign(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	rig_must(rig, &request);
}

/* Marks and root ports of an assignment are still in the definition, one function is not. */
static void assign_and_lose_a_function(Rig *rig)
{
	FakeDomain *domain = fake_domain(&rig->fake, "vm42");
	char *xml;

	assign(rig);
	xml = fake_xml_detach(domain->config_xml, &(Bdf){ 0, 0x41, 0, 1 });
	free(domain->config_xml);
	domain->config_xml = xml;
}

TEST(a_definition_that_changed_since_the_plan_is_left_alone)
{
	static const struct {
		void (*before)(Rig *rig);
		bool release;
	} rows[] = {
		{ none, false },
		{ assign_and_lose_a_function, false },
		{ assign, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobRequest request =
			rows[i].release ? release_request("vm42") : assign_request("vm42", "pair0");
		_cleanup_(prepared_freep) Prepared *prepared = NULL;
		_cleanup_free_ char *prefix = NULL, *before = NULL, *what = strf("row %zu", i);
		Rig *rig = rig_new();
		Outcome outcome;

		rig_shut_off(rig);
		rows[i].before(rig);
		outcome = rig_prepare(rig, &request, &prepared, &prefix);
		if (outcome.state != JOB_RUNNING)
			fail_msg("row %zu: %s", i, outcome.message);
		edit_the_definition(rig);
		before = rig_world(rig);
		outcome = rig_execute(rig, prepared, prefix);
		rig_expect_failure(&outcome, GPUPASS_ERROR_STALE_PLAN, "");
		rig_check_world(rig, before, what);
		rig_free(rig);
	}
}

/* ---- between the cheap look and the one with the fence closed ---- */

static void (*meanwhile)(Rig *rig);

static void at_the_last_look(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op == FAKE_USES && nth == 2)
		meanwhile((Rig *)fake);
}

static void define_a_domain_with_a_board(Rig *rig)
{
	fake_attach_to_definition(&rig->fake, "vm77", "0000:41:00.0");
}

static void start_a_domain_with_a_board(Rig *rig)
{
	define_a_domain_with_a_board(rig);
	fake_start(&rig->fake, "vm77");
}

static void rename_it(Rig *rig)
{
	fake_rename(&rig->fake, "vm42", "vm43");
}

/* Whatever libvirt tells of it. */
TEST(what_changes_while_the_fence_is_closed_is_seen_before_the_first_write)
{
	static const struct {
		const char *name;
		void (*meanwhile)(Rig *rig);
		GpupassError error;
		const char *words;
	} rows[] = {
		{ "a holder", hold_the_gpu, GPUPASS_ERROR_HOST_IN_USE,
		  "0000:61:00.0: /dev/nvidia0 by" },
		{ "a driver", load_a_driver, GPUPASS_ERROR_MAX_, NULL },
		{ "an override", set_an_override, GPUPASS_ERROR_DRIVER_CONFLICT,
		  "somebody else's driver_override" },
		{ "a definition", edit_the_definition, GPUPASS_ERROR_MAX_, NULL },
		{ "a domain defined", define_a_domain_with_a_board, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm77" },
		{ "a domain started", start_a_domain_with_a_board, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm77" },
		{ "its domain gone by its name", rename_it, GPUPASS_ERROR_NO_SUCH_DOMAIN, "vm42" },
	};

	for (size_t i = 0; i < 2 * ELEMENTS(rows); i++) {
		const JobRequest request = assign_request("vm42", "pair0");
		const size_t row = i / 2;
		Rig *rig = rig_new();
		Outcome outcome;

		rig_shut_off(rig);
		fake_add_domain(&rig->fake, "vm77", "q35", NULL);
		rig->fake.silent = i % 2 != 0;
		meanwhile = rows[row].meanwhile;
		rig->fake.hook = at_the_last_look;
		outcome = rig_run(rig, &request);
		if ((outcome.state == JOB_DONE) != !rows[row].words ||
		    (rows[row].words && (outcome.error != rows[row].error ||
					 !strstr(outcome.message, rows[row].words))))
			fail_msg("%s: %s", rows[row].name, str_or_empty(outcome.message));
		assert_true(outcome.state == JOB_DONE || fake_write_calls(&rig->fake) == 0);
		assert_int_equal(rig->fake.fresh_uses, 1);
		outcome_clear(&outcome);
		rig_free(rig);
	}
}

ON_A_RIG(a_group_that_another_domain_got_meanwhile_is_not_chosen)
{
	const JobRequest request = assign_request("vm42", NULL);

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	rig->fake.silent = true;
	meanwhile = define_a_domain_with_a_board;
	rig->fake.hook = at_the_last_look;
	rig_must(rig, &request);
	assert_true(rig_is_on(rig, "0000:41:00.0", "nvidia", ""));
	assert_true(rig_is_on(rig, "0000:a1:00.0", "vfio-pci", "vfio-pci"));
	assert_int_equal(rig->fake.fresh_uses, 3);
}

/* The event of the change was lost: both the plan's answer and the job's are those of a reading. */
TEST(no_refusal_rests_on_a_lost_event)
{
	const JobRequest request = assign_request("vm42", "pair0");
	Rig *rig = rig_new();
	Outcome outcome;

	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
	define_a_domain_with_a_board(rig);
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_FOREIGN_OWNER, "vm77");
	rig->fake.silent = true;
	fake_unplug(&rig->fake, "vm77", "0000:41:00.0");
	rig_must(rig, &request);
	rig_free(rig);
}

/* With many clients that is the usual refusal. */
ON_A_RIG(what_another_job_has_is_refused_without_a_look)
{
	const JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	Outcome outcome, first;

	rig_shut_off(rig);
	first = rig_prepare(rig, &request, &prepared, &prefix);
	assert_int_equal(first.state, JOB_RUNNING);
	fake_watch(&rig->fake);
	outcome = rig_run(rig, &request);
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "");
	assert_int_equal(rig->fake.fresh_uses, 0);
	assert_int_equal(rig->fake.calls[FAKE_SCAN], 0);
}

ON_A_RIG(what_the_preflight_refuses_says_that_nothing_was_changed)
{
	JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	Outcome outcome;

	rig_shut_off(rig);
	outcome = rig_prepare(rig, &request, &prepared, &prefix);
	fake_watch(&rig->fake);
	rig_store_read_only(rig, true);
	outcome = rig_execute(rig, prepared, prefix);
	rig_store_read_only(rig, false);
	assert_int_equal(fake_write_calls(&rig->fake), 0);
	assert_false(outcome.rolled_back);
	assert_non_null(strstr(outcome.message, "State:  nothing was changed"));
	rig_expect_failure(&outcome, GPUPASS_ERROR_STATE_READ_ONLY,
			   "cannot assign pair0 to vm42 (3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242): ");
}

TEST_WITH(what_cannot_be_found_is_named, rig_setup, rig_teardown)
{
	static const struct {
		Operation operation;
		const char *domain, *group, *target;
		GpupassError error;
		const char *words;
	} rows[] = {
		{ OPERATION_ASSIGN, "vm99", "pair0", NULL, GPUPASS_ERROR_NO_SUCH_DOMAIN, "vm99" },
		{ OPERATION_ASSIGN, "vm42", "pair9", NULL, GPUPASS_ERROR_NO_SUCH_GROUP,
		  "the groups of this host are pair0, pair1" },
		{ OPERATION_BIND, NULL, "pair9", NULL, GPUPASS_ERROR_NO_SUCH_GROUP,
		  "cannot bind pair9: there is no group \"pair9\"" },
		{ OPERATION_RELEASE, NULL, NULL, "pair0", GPUPASS_ERROR_NOT_ASSIGNED,
		  "cannot release pair0: it is assigned to no domain" },
		{ OPERATION_RELEASE, NULL, NULL, "vm42", GPUPASS_ERROR_NOT_ASSIGNED,
		  "vm42 has no group" },
		{ OPERATION_RELEASE, NULL, NULL, "neither", GPUPASS_ERROR_NOT_ASSIGNED,
		  "cannot release neither: there is neither a group nor a domain of that name" },
	};
	Rig *rig = with_shut_off_domain(state);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		JobRequest request = {
			.operation = rows[i].operation,
			.domain = (char *)rows[i].domain,
			.group = (char *)rows[i].group,
			.target = (char *)rows[i].target,
		};
		Outcome outcome = rig_run(rig, &request);

		if (outcome.state != JOB_FAILED || outcome.error != rows[i].error ||
		    !strstr(outcome.message, rows[i].words))
			fail_msg("row %zu: %s", i, str_or_empty(outcome.message));
		outcome_clear(&outcome);
	}
}

TEST_WITH(a_group_another_domain_has_is_refused, rig_setup, rig_teardown)
{
	Rig *rig = with_shut_off_domain(state);
	JobRequest first = assign_request("vm42", "pair0"),
		   second = assign_request("vm77", "pair0");
	_cleanup_free_ char *before = NULL;
	Outcome outcome;

	rig_must(rig, &first);
	before = rig_world(rig);
	outcome = rig_run(rig, &second);
	rig_check_world(rig, before, "the second domain");
	rig_expect_failure(&outcome, GPUPASS_ERROR_GROUP_BUSY, "vm42");
	/* What policy chooses is the other group. */
	second.group = NULL;
	rig_must(rig, &second);
	assert_true(rig_is_on(rig, "0000:c1:00.1", "vfio-pci", "vfio-pci"));
}
