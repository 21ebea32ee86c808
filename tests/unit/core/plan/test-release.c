/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plan_make() plans to release: the way back, and what is reset by what. */
#include "rig/test.h"

#include "plan-checks.h"

static void keep_vfio(PlanModel *m)
{
	assigned_cold(m);
	m->request.keep_vfio = true;
}

static void up_config(PlanModel *m)
{
	assigned_up(m);
	m->request.config = true;
}

static void up_live(PlanModel *m)
{
	assigned_up(m);
	m->request.live = true;
}

static void up_live_assignment(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports", "q35-eight-ports-attached");
}

static void up_transient(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, NULL, "q35-eight-ports-attached");
}

static void recorded_only(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
}

static void domain_gone(PlanModel *m)
{
	recorded_only(m);
	m->without_domain = true;
}

static void was_on_vfio(PlanModel *m)
{
	model_record(m, "vfio-pci", "vfio-pci");
	model_bind_pair0(m);
	model_domain(m, "q35-assigned", NULL);
}

static void other_board(PlanModel *m)
{
	assigned_cold(m);
	m->host.assignments->items[0]->functions[0].device = 0x2231;
}

TEST(release_plans_the_way_back)
{
	static const struct {
		const char *name;
		void (*prepare)(PlanModel *m);
		const char *steps;
		bool live, config;
		const char *warning;
		size_t moves;
	} rows[] = {
		{ "cold", assigned_cold, "preflight, define, reset, give back, verify, forget",
		  false, true, NULL, 4 },
		{ "running", assigned_up,
		  "preflight, detach, define, reset, give back, verify, forget", true, true, NULL,
		  4 },
		{ "running, --config", up_config, "preflight, define, verify", false, true,
		  "running vm42 keeps the group until it is shut off", 0 },
		{ "running, --live", up_live, "preflight, detach, verify", true, false,
		  "it is back at the next start", 0 },
		{ "live only", up_live_assignment,
		  "preflight, detach, reset, give back, verify, forget", true, false, NULL, 4 },
		{ "transient", up_transient, "preflight, detach, reset, give back, verify, forget",
		  true, false, NULL, 4 },
		{ "keep vfio", keep_vfio, "preflight, define, reset, verify, forget", false, true,
		  NULL, 0 },
		{ "record only", recorded_only, "preflight, reset, give back, verify, forget",
		  false, false, NULL, 4 },
		{ "domain gone", domain_gone, "preflight, reset, give back, verify, forget", false,
		  false, NULL, 4 },
		{ "record lost", record_lost, "preflight, define, reset, verify", false, true,
		  "no record says what 0000:41:00.0 was on before: it stays on vfio-pci", 0 },
		{ "was on vfio-pci", was_on_vfio, "preflight, define, reset, verify, forget", false,
		  true, NULL, 0 },
		{ "other board", other_board, "preflight, define, reset, give back, verify, forget",
		  false, true, "no record says what 0000:41:00.0 was on", 3 },
		{ "driver drifted", driver_drifted,
		  "preflight, define, reset, give back, verify, forget", false, true,
		  "0000:61:00.0 is not reset now", 3 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		size_t moves = 0;
		bool forget;
		_cleanup_(model_done) PlanModel m = model_new();

		m.request.operation = OPERATION_RELEASE;
		rows[i].prepare(&m);
		check_planned(&m, rows[i].name);
		check_steps(&m, rows[i].name, rows[i].steps);
		check_warning(&m, rows[i].name, rows[i].warning);
		for (size_t k = 0; k < m.plan->n_functions; k++)
			moves += !str_equal(m.plan->functions[k].from_driver,
					    m.plan->functions[k].to_driver);
		if (moves != rows[i].moves || m.plan->live != rows[i].live ||
		    m.plan->config != rows[i].config)
			fail_msg("%s: %zu moves, live %d, config %d", rows[i].name, moves,
				 m.plan->live, m.plan->config);
		forget = strstr(rows[i].steps, "forget") != NULL;
		if ((m.plan->assignment != NULL) != forget)
			fail_msg("%s: the record to forget", rows[i].name);
		assert_string_equal(m.plan->domain_uuid, VM42);
		assert_string_equal(m.plan->domain_name, "vm42");
	}
}

TEST(release_writes_a_reset_to_each_function_that_has_one)
{
	_cleanup_free_ char *json = NULL;
	const char *reset, *given_back;
	_cleanup_(model_done) PlanModel m = model_new();

	m.request.operation = OPERATION_RELEASE;
	assigned_cold(&m);
	check_planned(&m, "release");
	json = plan_to_json(m.plan);
	assert_non_null(json);
	reset = strstr(json, "/sys/bus/pci/devices/0000:61:00.0/reset\"");
	given_back = strstr(json, "/driver_override\"");
	assert_non_null(reset);
	assert_non_null(given_back);
	assert_true(reset < given_back);
	assert_null(strstr(json, "0000:41:00.1/reset\""));
	assert_int_equal(m.plan->functions[1].reset, PLAN_RESET_OWN);
	assert_null(m.plan->functions[1].reset_method);
}

/* The usual board: the display function has no reset but its bus's, which its audio shares. */
TEST(a_slot_without_a_reset_of_its_own_is_reset_through_vfio)
{
	/* pm takes it to D3hot and back, which is no reset between tenants. */
	static const char *const methods[] = { "bus", NULL, "pm", "pm bus" };

	for (size_t i = 0; i < ELEMENTS(methods); i++) {
		_cleanup_free_ char *json = NULL;
		_cleanup_(model_done) PlanModel m = model_new();

		m.request.operation = OPERATION_RELEASE;
		model_set(&model_function(&m, "0000:41:00.0")->reset_methods, methods[i]);
		assigned_cold(&m);
		check_planned(&m, "release");
		assert_int_equal(m.plan->functions[0].reset, PLAN_RESET_SLOT);
		assert_int_equal(m.plan->functions[1].reset, PLAN_RESET_WITH_LEAD);
		assert_int_equal(m.plan->functions[2].reset, PLAN_RESET_OWN);
		json = plan_to_json(m.plan);
		assert_non_null(json);
		assert_non_null(strstr(json, "/dev/vfio: the slot of 0000:41:00.0"));
		assert_null(strstr(json, "0000:41:00.0/reset\""));
	}
}

TEST(a_slot_of_which_the_host_keeps_a_function_is_not_reset_whole)
{
	_cleanup_(model_done) PlanModel m = model_new();

	m.request.operation = OPERATION_RELEASE;
	model_set(&model_function(&m, "0000:41:00.0")->reset_methods, NULL);
	assigned_cold(&m);
	model_function(&m, NIC)->bdf = bdf_of("0000:41:00.7");
	check_planned(&m, "release");
	assert_int_equal(m.plan->functions[0].reset, PLAN_RESET_OWN);
	check_warning(&m, "release", "the kernel knows no way to reset 0000:41:00.0");
}

TEST(a_slot_reset_hits_no_other_board)
{
	_cleanup_(model_done) PlanModel m = model_new();

	m.request.operation = OPERATION_RELEASE;
	model_set(&model_function(&m, "0000:41:00.0")->reset_methods, "bus");
	model_function(&m, NIC)->bdf = bdf_of("0000:41:01.0");
	assigned_cold(&m);
	assert_int_equal(model_plan(&m), PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_RESET_FAILED);
	assert_non_null(strstr(m.problem->cause, "0000:41:01.0"));
}

TEST(release_restores_driver_override_and_definition)
{
	_cleanup_free_ char *plain = domain_fixture("q35");
	_cleanup_(model_done) PlanModel m = model_new();

	m.request.operation = OPERATION_RELEASE;
	assigned_cold(&m);
	model_set(&m.host.assignments->items[0]->functions[1].original_driver, NULL);
	model_set(&m.host.assignments->items[0]->functions[3].original_override, "snd_hda_intel");
	check_planned(&m, "release");
	assert_true(domain_xml_equivalent(m.plan->xml_after, plain));
	assert_string_equal(m.plan->functions[0].to_driver, "nvidia");
	assert_null(m.plan->functions[0].to_override);
	assert_null(m.plan->functions[1].to_driver);
	assert_string_equal(m.plan->functions[3].to_override, "snd_hda_intel");
}
