/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plan_make() plans to release: the way back, and what is reset by what. */
#include "rig/test.h"

#include "plan-checks.h"

/* So many functions go to another driver. */
static void expect_release(PlanModel *m, const char *name, const char *steps, const char *warning,
			   size_t moves)
{
	expect_plan(m, name, steps, warning);
	for (size_t k = 0; k < m->plan->n_functions; k++)
		moves -= !str_equal(m->plan->functions[k].from_driver,
				    m->plan->functions[k].to_driver);
	if (moves != 0)
		fail_msg("%s: %zu moves too few", name, moves);
	assert_string_equal(m->plan->domain_uuid, VM42);
	assert_string_equal(m->plan->domain_name, "vm42");
}

#define RELEASED(name, steps, warning, moves, ...)                                                 \
	ON_MODEL(expect_release(m, name, steps, warning, moves), asks(m, OPERATION_RELEASE),       \
		 __VA_ARGS__)
#define BACK "reset, give back, verify, forget"

TEST(release_plans_the_way_back)
{
	RELEASED("cold", "preflight, define, " BACK, NULL, 4, assigned_cold(m));
	RELEASED("running", "preflight, detach, define, " BACK, NULL, 4, assigned_up(m));
	RELEASED("running, --config", "preflight, define, verify",
		 "running vm42 keeps the group until it is shut off", 0, assigned_up(m),
		 m->request.config = true);
	RELEASED("running, --live", "preflight, detach, verify", "it is back at the next start", 0,
		 assigned_up(m), m->request.live = true);
	RELEASED("live only", "preflight, detach, " BACK, NULL, 4, model_record(m, "nvidia", NULL),
		 model_bind_pair0(m),
		 model_domain(m, "q35-eight-ports", "q35-eight-ports-attached"));
	RELEASED("transient", "preflight, detach, " BACK, NULL, 4, model_record(m, "nvidia", NULL),
		 model_bind_pair0(m), model_domain(m, NULL, "q35-eight-ports-attached"));
	RELEASED("keep vfio", "preflight, define, reset, verify, forget", NULL, 0, assigned_cold(m),
		 m->request.keep_vfio = true);
	RELEASED("record only", "preflight, " BACK, NULL, 4, model_record(m, "nvidia", NULL),
		 model_bind_pair0(m));
	RELEASED("domain gone", "preflight, " BACK, NULL, 4, model_record(m, "nvidia", NULL),
		 model_bind_pair0(m), m->without_domain = true);
	RELEASED("record lost", "preflight, define, reset, verify",
		 "no record says what 0000:41:00.0 was on before: it stays on vfio-pci", 0,
		 record_lost(m));
	RELEASED("was on vfio-pci", "preflight, define, reset, verify, forget", NULL, 0,
		 model_record(m, "vfio-pci", "vfio-pci"), model_bind_pair0(m),
		 model_domain(m, "q35-assigned", NULL));
	RELEASED("other board", "preflight, define, " BACK,
		 "no record says what 0000:41:00.0 was on", 3, assigned_cold(m),
		 m->host.assignments->items[0]->functions[0].device = 0x2231);
	RELEASED("driver drifted", "preflight, define, " BACK, "0000:61:00.0 is not reset now", 3,
		 driver_drifted(m));
}

TEST(release_writes_a_reset_to_each_function_that_has_one)
{
	ON_MODEL((expect_shown(m, "release"),
		  assert_int_equal(m->plan->functions[1].reset, PLAN_RESET_OWN),
		  assert_null(m->plan->functions[1].reset_method)),
		 asks(m, OPERATION_RELEASE), assigned_cold(m));
}

static void expect_slot_reset(const PlanModel *m)
{
	assert_int_equal(m->plan->functions[0].reset, PLAN_RESET_SLOT);
	assert_int_equal(m->plan->functions[1].reset, PLAN_RESET_WITH_LEAD);
	assert_int_equal(m->plan->functions[2].reset, PLAN_RESET_OWN);
}

/* The usual board: the display function has no reset but its bus's, which its audio shares. */
TEST(a_slot_without_a_reset_of_its_own_is_reset_through_vfio)
{
	/* pm takes it to D3hot and back, which is no reset between tenants. */
	static const char *const methods[] = { "bus", NULL, "pm", "pm bus" };

	for (size_t i = 0; i < ELEMENTS(methods); i++)
		ON_MODEL((expect_shown(m, "release-slot"), expect_slot_reset(m)),
			 asks(m, OPERATION_RELEASE), assigned_cold(m),
			 model_set(&model_function(m, "0000:41:00.0")->reset_methods, methods[i]));
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
