/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan as it is shown, and the choice of a group. */
#include "rig/test.h"

#include "plan-checks.h"

TEST(a_plan_is_shown_whole)
{
	ON_MODEL(expect_shown(m, "assign"), m->inspection.unsafe_interrupts = true);
	ON_MODEL(expect_shown(m, "nothing-to-do"), asks(m, OPERATION_BIND), model_bind_pair0(m));
}

#define DEVICE "/sys/bus/pci/devices/0000:41:00.0/"
#define WRITE(path, value) "{\"path\": \"" path "\", \"value\": \"" value "\"}"
#define OVERRIDE(value) WRITE(DEVICE "driver_override", value)
#define UNBIND WRITE(DEVICE "driver/unbind", "0000:41:00.0")
#define PROBE WRITE("/sys/bus/pci/drivers_probe", "0000:41:00.0")
#define BIND(driver) WRITE("/sys/bus/pci/drivers/" driver "/bind", "0000:41:00.0")

/* The order of driver_move_with(): a plan that showed another would not be what happens. */
TEST(writes_are_those_of_driver_move)
{
	static const struct {
		const char *from_driver, *from_override, *to_driver, *to_override, *writes;
	} rows[] = {
		{ "nvidia", NULL, "vfio-pci", "vfio-pci",
		  "[" OVERRIDE("vfio-pci") ", " UNBIND ", " PROBE "]" },
		{ NULL, NULL, "vfio-pci", "vfio-pci", "[" OVERRIDE("vfio-pci") ", " PROBE "]" },
		{ "nvidia", "vfio-pci", "vfio-pci", "vfio-pci", "[" UNBIND ", " PROBE "]" },
		{ "vfio-pci", NULL, "vfio-pci", "vfio-pci", "[" OVERRIDE("vfio-pci") "]" },
		{ "vfio-pci", "vfio-pci", "vfio-pci", "vfio-pci", "[]" },
		{ "vfio-pci", "vfio-pci", "nvidia", NULL,
		  "[" OVERRIDE("\\n") ", " UNBIND ", " BIND("nvidia") "]" },
		{ "vfio-pci", "vfio-pci", NULL, NULL, "[" OVERRIDE("\\n") ", " UNBIND "]" },
		{ "vfio-pci", "vfio-pci", "nvidia", "vfio-pci",
		  "[" OVERRIDE("\\n") ", " UNBIND
				      ", " BIND("nvidia") ", " OVERRIDE("vfio-pci") "]" },
		{ "nvidia", "vfio-pci", "nvidia", NULL, "[" OVERRIDE("\\n") "]" },
		{ "vfio-pci", NULL, NULL, "nvidia", "[" OVERRIDE("nvidia") ", " UNBIND "]" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PlanFunction function = {
			.bdf = { 0, 0x41, 0, 0 },
			.iommu_group = IOMMU_GROUP_NONE,
			.from_driver = (char *)rows[i].from_driver,
			.from_override = (char *)rows[i].from_override,
			.to_driver = (char *)rows[i].to_driver,
			.to_override = (char *)rows[i].to_override,
		};
		Plan plan = { .group = (char *)"g", .functions = &function, .n_functions = 1 };
		_cleanup_json_ json_t *json = NULL, *wanted = NULL;
		_cleanup_free_ char *text = plan_to_json(&plan);

		json = json_loads(text, 0, NULL);
		wanted = json_loads(rows[i].writes, 0, NULL);
		assert_non_null(wanted);
		if (!json_equal(json_object_get(json, "writes"), wanted))
			fail_msg("row %zu: %s", i, text);
	}
}

TEST(details_count_what_a_step_does)
{
	static const struct {
		Operation operation;
		StepKind step;
		const char *detail;
	} rows[] = {
		{ OPERATION_ASSIGN, STEP_PREFLIGHT, "IOMMU group 7 viable; no holders" },
		{ OPERATION_RELEASE, STEP_PREFLIGHT, "nothing changed since it was planned" },
		{ OPERATION_ASSIGN, STEP_BIND, "1 function" },
		{ OPERATION_ASSIGN, STEP_DEFINE, "2 hostdevs" },
		{ OPERATION_RELEASE, STEP_DEFINE, "vm42 without pair0" },
		{ OPERATION_ASSIGN, STEP_ATTACH, "2 functions" },
		{ OPERATION_RELEASE, STEP_DETACH, "2 functions" },
		{ OPERATION_RELEASE, STEP_RESTORE, "1 function" },
		{ OPERATION_ASSIGN, STEP_VERIFY, "nothing to re-read" },
		{ OPERATION_ASSIGN, STEP_RECORD, "pair0 for vm42" },
		{ OPERATION_RELEASE, STEP_FORGET, "pair0 for vm42" },
		{ OPERATION_ASSIGN, STEP_KIND_MAX_, NULL },
	};
	PlanFunction functions[] = {
		{ .iommu_group = 7, .to_driver = (char *)"vfio-pci" },
		{ .iommu_group = 7 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Plan plan = {
			.operation = rows[i].operation,
			.group = (char *)"pair0",
			.domain_name = (char *)"vm42",
			.config = true,
			.functions = functions,
			.n_functions = ELEMENTS(functions),
		};
		_cleanup_free_ char *detail = plan_step_detail(&plan, rows[i].step);

		if (!str_equal(detail, rows[i].detail))
			fail_msg("row %zu: %s", i, detail);
	}
}

TEST(prefix_leaves_out_what_is_not_known)
{
	static const struct {
		Operation operation;
		const char *group, *domain, *prefix;
	} rows[] = {
		{ OPERATION_ASSIGN, "pair0", "vm42", "cannot assign pair0 to vm42" },
		{ OPERATION_ASSIGN, "pair0", NULL, "cannot assign pair0" },
		{ OPERATION_ASSIGN, NULL, "vm42", "cannot assign to vm42" },
		{ OPERATION_ASSIGN, NULL, NULL, "cannot assign" },
		{ OPERATION_RELEASE, "pair0", "vm42", "cannot release pair0 from vm42" },
		{ OPERATION_RELEASE, NULL, "vm42", "cannot release vm42" },
		{ OPERATION_RELEASE, "pair0", NULL, "cannot release pair0" },
		{ OPERATION_BIND, "pair0", NULL, "cannot bind pair0" },
		{ OPERATION_UNBIND, "pair0", "vm42", "cannot unbind pair0" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *prefix =
			plan_prefix(rows[i].operation, rows[i].group, rows[i].domain);

		if (strcmp(prefix, rows[i].prefix) != 0)
			fail_msg("row %zu: %s", i, prefix);
	}
}

static const char *const pair1_functions[] = { "0000:a1:00.0", "0000:a1:00.1", "0000:c1:00.0",
					       "0000:c1:00.1", NULL };

static void pair0_is_vm1_s(PlanModel *m)
{
	host_domain(&m->host, "vm1", false, pair0_functions);
	host_assignment(&m->host, "pair0", "vm1", 1, pair0_functions);
	model_bind_pair0(m);
}

static void pair1_is_vm42_s(PlanModel *m)
{
	model_set(&host_domain(&m->host, "vm42", false, pair1_functions)->uuid, VM42);
}

static void undeclared(PlanModel *m)
{
	host_link(&m->host, "0000:02:00.0", "0000:03:00.0", PROVENANCE_PROBED, 4);
}

static void expect_choice(PlanModel *m, const char *name, const char *model, const char *wanted,
			  GpupassError error, const char *reason, const char *cause)
{
	const Group *group = NULL;
	int r;

	model_observe(m);
	r = plan_choose_group(m->host.groups, VM42, model, &group, &m->problem);
	if (r != (wanted ? 0 : PROBLEM) || !str_equal(group ? group->name : NULL, wanted))
		fail_msg("%s: gives %d, %s", name, r, group ? group->name : "none");
	if (m->problem && (m->problem->error != error || !strstr(m->problem->reason, reason) ||
			   !strstr(str_or_empty(m->problem->cause), cause)))
		fail_msg("%s: %s (%s)", name, m->problem->reason, m->problem->cause);
}

#define CHOOSES(name, model, group, error, reason, cause, ...)                                     \
	ON_MODEL(expect_choice(m, name, model, group, error, reason, cause), __VA_ARGS__)
#define CHOSEN(name, model, group, ...) CHOOSES(name, model, group, 0, NULL, NULL, __VA_ARGS__)

TEST(choice_takes_the_own_then_the_first_free_or_says_why_not)
{
	CHOSEN("first", NULL, "pair0", (void)0);
	CHOSEN("second", NULL, "pair1", pair0_is_vm1_s(m));
	CHOSEN("own", NULL, "pair1", pair1_is_vm42_s(m));
	CHOSEN("of model", "rtx a6000", "pair0", (void)0);
	CHOSEN("own of model", "RTX A6000", "pair1", pair1_is_vm42_s(m));
	/* A domain may have several groups, of several models. */
	CHOOSES("own of another model", "RTX 3090", NULL, GPUPASS_ERROR_NO_SUCH_GROUP,
		"there is no group of RTX 3090", "", pair1_is_vm42_s(m));
	CHOOSES("none of model", "RTX 3090", NULL, GPUPASS_ERROR_NO_SUCH_GROUP,
		"there is no group of RTX 3090", "", (void)0);
	CHOOSES("none free", "RTX A6000", NULL, GPUPASS_ERROR_GROUP_BUSY,
		"there is no free group of RTX A6000",
		"pair0 is assigned to vm1\npair1 is foreign: domain vm9", pair0_is_vm1_s(m),
		host_domain(&m->host, "vm9", true, pair1_functions));
	/* pair0 is vm1's, and pair1's boards are two groups of one. */
	/* Whoever names no group wants GPUs that are linked. */
	CHOOSES("no single instead", NULL, NULL, GPUPASS_ERROR_GROUP_BUSY, "there is no free group",
		"pair0 is assigned to vm1",
		host_declare(&m->host,
			     "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
			     "[Group]\nName=a0\nGpu=a1:00.0\n[Group]\nName=z0\nGpu=c1:00.0\n"),
		pair0_is_vm1_s(m));
	CHOSEN("singles only", NULL, "a0",
	       host_declare(&m->host,
			    "[Group]\nName=z0\nGpu=c1:00.0\n[Group]\nName=a0\nGpu=a1:00.0\n"
			    "[Group]\nName=b0\nGpu=41:00.0\n[Group]\nName=c0\nGpu=61:00.0\n"));
	CHOOSES("none known", NULL, NULL, GPUPASS_ERROR_LINKS_UNKNOWN, "there is no free group",
		"unknown0 is unknown", undeclared(m));
	CHOOSES("none at all", NULL, NULL, GPUPASS_ERROR_NO_SUCH_GROUP,
		"no group of NVLink-bridged GPUs", "", {
			for (size_t i = 0; i < m->host.snapshot->n_functions; i++)
				m->host.snapshot->functions[i]->vendor = 0x1002;
			m->host.set = gpu_set_free(m->host.set);
			undeclared(m);
		});
}

TEST(a_holder_that_is_yet_to_let_go_is_one)
{
	PlanFunction function = {
		.iommu_group = 7,
		.from_driver = (char *)"nvidia",
		.to_driver = (char *)"vfio-pci",
		.from_persistence = PERSISTENCE_ON,
		.kept_by = 812,
	};
	Plan plan = { .functions = &function, .n_functions = 1 };
	_cleanup_free_ char *detail = plan_step_detail(&plan, STEP_PREFLIGHT);

	assert_string_equal(detail, "IOMMU group 7 viable; no other holders");
}

/* No step claims to have read what no step of the plan changed. */
TEST(verify_names_what_it_reads)
{
	static const struct {
		StepKind steps[2];
		const char *detail;
	} rows[] = {
		{ { STEP_BIND, STEP_DEFINE }, "drivers and XML re-read" },
		{ { STEP_DETACH, STEP_RESTORE }, "drivers and XML re-read" },
		{ { STEP_RESTORE, STEP_VERIFY }, "drivers re-read" },
		{ { STEP_ATTACH, STEP_VERIFY }, "XML re-read" },
		{ { STEP_DEFINE, STEP_RESET }, "XML re-read" },
		{ { STEP_RESET, STEP_VERIFY }, "nothing to re-read" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Plan plan = { .steps = (StepKind *)rows[i].steps, .n_steps = 2, .config = true };
		_cleanup_free_ char *detail = plan_step_detail(&plan, STEP_VERIFY);

		if (!str_equal(detail, rows[i].detail))
			fail_msg("row %zu: %s", i, detail);
	}
}
