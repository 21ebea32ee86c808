/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plan_make() plans to bind and unbind; and when a plan does not hold any more. */
#include "rig/test.h"

#include "plan-checks.h"

/* A variant of any name: sysfs has the device of vfio that it made. */
static void on_odd_variant(PlanModel *m)
{
	for (size_t i = 0; pair0_functions[i]; i++) {
		model_drive(m, pair0_functions[i], "acme_gpu", "acme_gpu");
		model_function(m, pair0_functions[i])->vfio_dev = true;
		model_facts(m, pair0_functions[i])->vfio_dev = true;
	}
}

#define BOUND(name, steps, ...)                                                                    \
	ON_MODEL((expect_plan(m, name, steps, NULL), assert_null(m->plan->domain_uuid)),           \
		 __VA_ARGS__, model_observe(m), asks(m, OPERATION_BIND))

TEST(bind_moves_what_is_not_on_vfio)
{
	BOUND("free", "preflight, bind vfio-pci, verify", (void)0);
	BOUND("bound", "", model_bind_pair0(m));
	BOUND("bound to an odd variant", "", on_odd_variant(m));
	BOUND("assigned", "", assigned_cold(m));
	BOUND("drifted", "preflight, bind vfio-pci, verify", driver_drifted(m));
}

static void expect_first(PlanModel *m, const char *driver, const char *override)
{
	assert_string_equal(m->plan->functions[0].to_driver, driver);
	if (override)
		assert_string_equal(m->plan->functions[0].to_override, override);
	else
		assert_null(m->plan->functions[0].to_override);
}

TEST(unbind_guesses_only_drivers_that_are_there)
{
	ON_MODEL(
		(expect_plan(
			 m, "unbind", "preflight, give back, verify",
			 "0000:41:00.1 stays without a driver; to let the kernel choose one: echo 0000:41:00.1 > "
			 "/sys/bus/pci/drivers_probe"),
		 expect_first(m, "nvidia", NULL), assert_null(m->plan->functions[1].to_driver)),
		asks(m, OPERATION_UNBIND), model_bind_pair0(m),
		model_drive(m, "0000:a1:00.1", NULL, NULL),
		model_drive(m, "0000:c1:00.1", NULL, NULL));
}

TEST(what_is_on_an_odd_variant_is_unbound_and_reset_like_any_other)
{
	ON_MODEL((expect_plan(m, "unbind", "preflight, give back, verify", NULL),
		  expect_first(m, "nvidia", NULL)),
		 asks(m, OPERATION_UNBIND), on_odd_variant(m));
	ON_MODEL((check_planned(m, "assign"), expect_first(m, "acme_gpu", "acme_gpu")),
		 on_odd_variant(m));
}

TEST(unbind_of_what_is_not_bound_changes_nothing)
{
	PLANNED("unbind", "", NULL, asks(m, OPERATION_UNBIND),
		model_set(&model_facts(m, "0000:41:00.0")->driver_override, "nvidia"));
}

TEST(fresh_facts_must_equal_those_of_the_plan)
{
	static const struct {
		const char *driver, *override, *cause;
	} rows[] = {
		{ "vfio-pci", NULL, "0000:61:00.0: its driver was nvidia, now it is vfio-pci" },
		{ NULL, NULL, "0000:61:00.0: its driver was nvidia, now it is none" },
		{ "nvidia", "vfio-pci",
		  "0000:61:00.0: its driver_override was none, now it is vfio-pci" },
	};
	_cleanup_(model_done) PlanModel m = model_new();

	check_planned(&m, "assign");
	assert_int_equal(plan_check_fresh(m.plan, &m.inspection, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;

		model_drive(&m, "0000:61:00.0", rows[i].driver, rows[i].override);
		assert_int_equal(plan_check_fresh(m.plan, &m.inspection, &problem), PROBLEM);
		assert_int_equal(problem->error, GPUPASS_ERROR_STALE_PLAN);
		assert_string_equal(problem->cause, rows[i].cause);
	}
	model_facts(&m, "0000:61:00.0")->bdf.bus = 0xee;
	assert_int_equal(plan_check_fresh(m.plan, &m.inspection, &m.problem), PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_NO_SUCH_GPU);
}

/* A step that looks again has a new snapshot, and the groups of the old one. */
TEST(checks_go_by_the_newest_snapshot)
{
	PlanModel m, now;
	PlanFacts facts;

	m = model_new();
	now = model_new();
	check_planned(&m, "assign");
	facts = (PlanFacts){
		.snapshot = now.host.snapshot,
		.groups = m.host.groups,
		.group = host_group(&m.host, "pair0"),
		.inspection = &now.inspection,
		.uses = m.host.uses,
		.assignments = now.host.assignments,
		.policy = &m.policy,
	};
	assert_int_equal(plan_check_functions(&facts, &m.request, NULL, &m.problem), 0);
	model_function(&now, "0000:61:00.0")->iommu_group = IOMMU_GROUP_NONE;
	assert_int_equal(plan_check_functions(&facts, &m.request, NULL, &m.problem), PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_IOMMU_DISABLED);
	problem_free(m.problem);
	model_function(&now, "0000:61:00.0")->bdf.bus = 0x62;
	assert_int_equal(plan_check_functions(&facts, &m.request, NULL, &m.problem), PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_NO_SUCH_GPU);
	model_done(&now);
	model_done(&m);
}
