/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plan_make() plans: steps, functions, XML, records, and what it leaves alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan-model.h"

static void check_planned(PlanModel *m, const char *name)
{
	int r = model_plan(m);

	if (r != 0)
		fail_msg("%s: refused: %s (%s)", name, m->problem ? m->problem->reason : "errno",
			 m->problem ? str_or_empty(m->problem->cause) : "");
}

/* "preflight, define": the plan's steps. */
static void check_steps(const PlanModel *m, const char *name, const char *steps)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < m->plan->n_steps; i++)
		assert_int_equal(strv_append(&names, step_kind_to_string(m->plan->steps[i])), 0);
	joined = strv_join(names, ", ");
	if (strcmp(joined, steps) != 0)
		fail_msg("%s: the steps are: %s", name, joined);
	if (m->plan->changed != (*steps != '\0'))
		fail_msg("%s: changed is %d", name, m->plan->changed);
}

static void check_warning(const PlanModel *m, const char *name, const char *part)
{
	_cleanup_free_ char *all = strv_join(m->plan->warnings, "\n");

	if (part ? !strstr(all, part) : *all != '\0')
		fail_msg("%s: the warnings are: %s", name, all);
}

static void cold(PlanModel *m)
{
	model_domain(m, "q35", NULL);
}

static void cold_i440fx(PlanModel *m)
{
	model_domain(m, "i440fx", NULL);
}

static void cold_bound(PlanModel *m)
{
	model_bind_pair0(m);
}

static void up(PlanModel *m)
{
	model_domain(m, "q35-eight-ports", "q35-eight-ports-live");
}

static void up_live_only(PlanModel *m)
{
	up(m);
	m->request.live = true;
}

static void up_config_only(PlanModel *m)
{
	up(m);
	m->request.config = true;
}

static void up_defined(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-live");
}

static void assigned_cold(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-assigned", NULL);
}

static void assigned_up(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-attached");
	model_holder(m, "0000:41:00.0", "/dev/vfio/33", true);
}

static void assigned_up_by_ids(PlanModel *m)
{
	assigned_up(m);
	model_drive(m, "0000:41:00.0", "vfio-pci", NULL);
}

static void assigned_inferred(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n");
	assigned_cold(m);
}

static void record_lost(PlanModel *m)
{
	model_bind_pair0(m);
	model_domain(m, "q35-assigned", NULL);
}

static void record_lost_up(PlanModel *m)
{
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-attached");
	model_holder(m, "0000:41:00.0", "/dev/vfio/33", true);
}

static void driver_drifted(PlanModel *m)
{
	assigned_cold(m);
	model_drive(m, "0000:61:00.0", "nvidia", NULL);
}

static void definition_drifted(PlanModel *m)
{
	char *hostdev;

	assigned_cold(m);
	hostdev = strstr(m->config_xml, "<hostdev");
	memcpy(hostdev, "<xostdev", strlen("<xostdev"));
	memcpy(strstr(hostdev, "</hostdev"), "</xostdev", strlen("</xostdev"));
}

static void inferred_accepted(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n");
	m->policy.accept_inferred = true;
}

static void unsafe_interrupts(PlanModel *m)
{
	m->inspection.unsafe_interrupts = true;
}

static void boot_display_given_up(PlanModel *m)
{
	model_function(m, "0000:41:00.0")->boot_vga = true;
	m->request.allow_boot_vga = true;
}

static void neighbours_that_do_no_harm(PlanModel *m)
{
	/* The bridge of the model shares IOMMU group 33 already. */
	model_drive(m, NIC, NULL, NULL);
	model_function(m, NIC)->iommu_group = 33;
}

static void neighbour_on_stub(PlanModel *m)
{
	model_drive(m, NIC, "pci-stub", NULL);
	model_function(m, NIC)->iommu_group = 33;
}

#define BIND "bind vfio-pci, "

static void assign_plans_what_is_lacking_and_no_more(_unused_ void **state)
{
	static const struct {
		const char *name;
		void (*prepare)(PlanModel *m);
		const char *steps;
		bool live, config;
		const char *warning;
	} rows[] = {
		{ "cold", cold, "preflight, " BIND "define, verify, record", false, true, NULL },
		{ "cold, i440fx", cold_i440fx, "preflight, " BIND "define, verify, record", false,
		  true, "i440fx" },
		{ "cold, bound", cold_bound, "preflight, define, verify, record", false, true,
		  NULL },
		{ "running", up, "preflight, " BIND "attach, define, verify, record", true, true,
		  NULL },
		{ "running, --live", up_live_only, "preflight, " BIND "attach, verify, record",
		  true, false, "the assignment ends when it is shut off" },
		{ "running, --config", up_config_only, "preflight, " BIND "define, verify, record",
		  false, true, "gets the group at its next start" },
		{ "running, defined", up_defined, "preflight, attach, verify, record", true, false,
		  NULL },
		{ "done, cold", assigned_cold, "", false, false, NULL },
		{ "done, running", assigned_up, "", false, false, NULL },
		{ "done, running, no override", assigned_up_by_ids, "", false, false, NULL },
		{ "done, inferred", assigned_inferred, "", false, false, NULL },
		{ "record lost", record_lost, "preflight, verify, record", false, false,
		  "a release will leave them as they are now" },
		{ "record lost, running", record_lost_up, "verify, record", false, false,
		  "a release will leave them as they are now" },
		{ "driver drifted", driver_drifted, "preflight, " BIND "verify, record", false,
		  false, NULL },
		{ "definition drifted", definition_drifted, "preflight, define, verify, record",
		  false, true, NULL },
		{ "inferred, accepted", inferred_accepted,
		  "preflight, " BIND "define, verify, record", false, true,
		  "the bridge of pair0 is inferred, not proven" },
		{ "unsafe interrupts", unsafe_interrupts,
		  "preflight, " BIND "define, verify, record", false, true, "forge interrupts" },
		{ "boot display", boot_display_given_up,
		  "preflight, " BIND "define, verify, record", false, true, NULL },
		{ "harmless neighbours", neighbours_that_do_no_harm,
		  "preflight, " BIND "define, verify, record", false, true, NULL },
		{ "neighbour on pci-stub", neighbour_on_stub,
		  "preflight, " BIND "define, verify, record", false, true, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PlanModel m;

		model_init(&m);
		rows[i].prepare(&m);
		check_planned(&m, rows[i].name);
		check_steps(&m, rows[i].name, rows[i].steps);
		check_warning(&m, rows[i].name, rows[i].warning);
		if (m.plan->live != rows[i].live || m.plan->config != rows[i].config)
			fail_msg("%s: live %d, config %d", rows[i].name, m.plan->live,
				 m.plan->config);
		if ((m.plan->hostdevs != NULL) != rows[i].live ||
		    (m.plan->xml_after != NULL) != rows[i].config ||
		    (m.plan->assignment != NULL) != m.plan->changed)
			fail_msg("%s: hostdevs, XML or record", rows[i].name);
		model_done(&m);
	}
}

static void assign_defines_the_group_once_and_whole(_unused_ void **state)
{
	static void (*const prepare[])(PlanModel *) = { cold, cold_i440fx, up, definition_drifted };

	for (size_t i = 0; i < ELEMENTS(prepare); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainUse use = { 0 };
		PlanModel m;

		model_init(&m);
		prepare[i](&m);
		check_planned(&m, "assign");
		assert_string_equal(m.plan->xml_before, m.config_xml);
		assert_int_equal(domain_use_from_xml(NULL, m.plan->xml_after, &use, &problem), 0);
		assert_string_equal(use.gpupass_group, "pair0");
		assert_int_equal(use.n_hostdevs, 4);
		for (size_t k = 0; k < 4; k++)
			assert_string_equal(BDF_TEXT(&use.hostdevs[k].bdf), pair0_functions[k]);
		domain_use_clear(&use);
		model_done(&m);
	}
}

static void assign_live_attaches_each_function_in_order(_unused_ void **state)
{
	PlanModel m;

	model_init(&m);
	up(&m);
	check_planned(&m, "assign");
	assert_int_equal(strv_length(m.plan->hostdevs), 4);
	assert_int_equal(m.plan->n_functions, 4);
	for (size_t i = 0; i < 4; i++) {
		_cleanup_free_ char *hostdev =
			domain_xml_hostdev("pair0", i, &m.plan->functions[i].bdf);

		assert_string_equal(m.plan->hostdevs[i], hostdev);
		assert_string_equal(BDF_TEXT(&m.plan->functions[i].bdf), pair0_functions[i]);
	}
	model_done(&m);
}

static void assign_moves_every_function_to_vfio_and_records_where_it_was(_unused_ void **state)
{
	const AssignedFunction *recorded;
	PlanModel m;

	model_init(&m);
	model_drive(&m, "0000:61:00.1", NULL, NULL);
	model_drive(&m, "0000:41:00.1", "nvgrace_gpu_vfio_pci", "nvgrace_gpu_vfio_pci");
	model_set(&model_facts(&m, "0000:41:00.0")->uuid, "GPU-1b5c");
	model_set(&model_facts(&m, "0000:41:00.0")->serial_number, "00-04-4b");
	check_planned(&m, "assign");

	assert_string_equal(m.plan->functions[0].from_driver, "nvidia");
	assert_null(m.plan->functions[0].from_override);
	assert_string_equal(m.plan->functions[0].to_driver, "vfio-pci");
	assert_string_equal(m.plan->functions[0].to_override, "vfio-pci");
	assert_int_equal(m.plan->functions[0].iommu_group, 33);
	/* A variant of vfio-pci serves as well, and better: it stays. */
	assert_string_equal(m.plan->functions[1].to_driver, "nvgrace_gpu_vfio_pci");
	assert_null(m.plan->functions[3].from_driver);

	assert_string_equal(m.plan->assignment->domain_uuid, VM42);
	assert_string_equal(m.plan->assignment->domain_name, "vm42");
	assert_string_equal(m.plan->assignment->group_name, "pair0");
	assert_int_equal(m.plan->assignment->created_by, 1000);
	assert_int_equal(m.plan->assignment->created_usec, 77);
	assert_int_equal(m.plan->assignment->n_functions, 4);
	recorded = &m.plan->assignment->functions[0];
	assert_string_equal(recorded->original_driver, "nvidia");
	assert_null(recorded->original_override);
	assert_string_equal(recorded->uuid, "GPU-1b5c");
	assert_string_equal(recorded->serial_number, "00-04-4b");
	assert_int_equal(recorded->device, 0x2230);
	assert_null(m.plan->assignment->functions[1].uuid);
	assert_null(m.plan->assignment->functions[3].original_driver);
	model_done(&m);
}

/* What the functions were on before the first assignment is what release needs. */
static void assign_again_keeps_the_first_record_s_originals(_unused_ void **state)
{
	PlanModel m;

	model_init(&m);
	driver_drifted(&m);
	model_set(&m.host.assignments->items[0]->functions[2].original_driver, "nouveau");
	model_set(&m.host.assignments->items[0]->functions[2].original_override, "nouveau");
	check_planned(&m, "assign");
	assert_string_equal(m.plan->assignment->functions[2].original_driver, "nouveau");
	assert_string_equal(m.plan->assignment->functions[2].original_override, "nouveau");
	assert_string_equal(m.plan->functions[2].from_driver, "nvidia");
	model_done(&m);
}

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

static void release_plans_the_way_back(_unused_ void **state)
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
		  "preflight, define, reset, give back, verify, forget", false, true, NULL, 3 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		size_t moves = 0;
		bool forget;
		PlanModel m;

		model_init(&m);
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
		model_done(&m);
	}
}

static void release_writes_a_reset_to_each_function_that_has_one(_unused_ void **state)
{
	_cleanup_free_ char *json = NULL;
	const char *reset, *given_back;
	PlanModel m;

	model_init(&m);
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
	model_done(&m);
}

/* The usual board: the display function has no reset but its bus's, which its audio shares. */
static void a_slot_without_a_reset_of_its_own_is_reset_through_vfio(_unused_ void **state)
{
	static const char *const methods[] = { "bus", NULL };

	for (size_t i = 0; i < ELEMENTS(methods); i++) {
		_cleanup_free_ char *json = NULL;
		PlanModel m;

		model_init(&m);
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
		model_done(&m);
	}
}

static void a_slot_of_which_the_host_keeps_a_function_is_not_reset_whole(_unused_ void **state)
{
	PlanModel m;

	model_init(&m);
	m.request.operation = OPERATION_RELEASE;
	model_set(&model_function(&m, "0000:41:00.0")->reset_methods, NULL);
	assigned_cold(&m);
	model_function(&m, NIC)->bdf = bdf_of("0000:41:00.7");
	check_planned(&m, "release");
	assert_int_equal(m.plan->functions[0].reset, PLAN_RESET_OWN);
	check_warning(&m, "release", "the kernel knows no way to reset 0000:41:00.0");
	model_done(&m);
}

static void a_slot_reset_hits_no_other_board(_unused_ void **state)
{
	PlanModel m;

	model_init(&m);
	m.request.operation = OPERATION_RELEASE;
	model_set(&model_function(&m, "0000:41:00.0")->reset_methods, "bus");
	model_function(&m, NIC)->bdf = bdf_of("0000:41:01.0");
	assigned_cold(&m);
	assert_int_equal(model_plan(&m), PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_RESET_FAILED);
	assert_non_null(strstr(m.problem->cause, "0000:41:01.0"));
	model_done(&m);
}

static void release_restores_driver_override_and_definition(_unused_ void **state)
{
	_cleanup_free_ char *plain = domain_fixture("q35");
	PlanModel m;

	model_init(&m);
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
	model_done(&m);
}

static void already_bound(PlanModel *m)
{
	model_bind_pair0(m);
}

static void bind_moves_what_is_not_on_vfio(_unused_ void **state)
{
	static const struct {
		const char *name;
		void (*prepare)(PlanModel *m);
		const char *steps;
	} rows[] = {
		{ "free", cold, "preflight, bind vfio-pci, verify" },
		{ "bound", already_bound, "" },
		{ "assigned", assigned_cold, "" },
		{ "drifted", driver_drifted, "preflight, bind vfio-pci, verify" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PlanModel m;

		model_init(&m);
		rows[i].prepare(&m);
		m.request.operation = OPERATION_BIND;
		model_observe(&m);
		m.without_domain = true;
		check_planned(&m, rows[i].name);
		check_steps(&m, rows[i].name, rows[i].steps);
		assert_null(m.plan->domain_uuid);
		assert_null(m.plan->assignment);
		model_done(&m);
	}
}

static void unbind_guesses_only_drivers_that_are_there(_unused_ void **state)
{
	PlanModel m;

	model_init(&m);
	m.request.operation = OPERATION_UNBIND;
	m.without_domain = true;
	model_bind_pair0(&m);
	model_drive(&m, "0000:a1:00.1", NULL, NULL);
	model_drive(&m, "0000:c1:00.1", NULL, NULL);
	check_planned(&m, "unbind");
	check_steps(&m, "unbind", "preflight, give back, verify");
	assert_string_equal(m.plan->functions[0].to_driver, "nvidia");
	assert_null(m.plan->functions[0].to_override);
	assert_null(m.plan->functions[1].to_driver);
	check_warning(&m, "unbind",
		      "0000:41:00.1 stays without a driver; to let the kernel choose one: "
		      "echo 0000:41:00.1 > /sys/bus/pci/drivers_probe");
	model_done(&m);
}

static void unbind_of_what_is_not_bound_changes_nothing(_unused_ void **state)
{
	PlanModel m;

	model_init(&m);
	m.request.operation = OPERATION_UNBIND;
	m.without_domain = true;
	model_set(&model_facts(&m, "0000:41:00.0")->driver_override, "nvidia");
	check_planned(&m, "unbind");
	check_steps(&m, "unbind", "");
	model_done(&m);
}

static void fresh_facts_must_equal_those_of_the_plan(_unused_ void **state)
{
	static const struct {
		const char *driver, *override, *cause;
	} rows[] = {
		{ "vfio-pci", NULL, "0000:61:00.0: its driver was nvidia, now it is vfio-pci" },
		{ NULL, NULL, "0000:61:00.0: its driver was nvidia, now it is none" },
		{ "nvidia", "vfio-pci",
		  "0000:61:00.0: its driver_override was none, now it is vfio-pci" },
	};
	PlanModel m;

	model_init(&m);
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
	model_done(&m);
}

/* The preflight step looks at a new snapshot with the groups of the old one. */
static void checks_go_by_the_newest_snapshot(_unused_ void **state)
{
	PlanModel m, now;

	model_init(&m);
	model_init(&now);
	check_planned(&m, "assign");
	assert_int_equal(plan_check_functions(host_group(&m.host, "pair0"), now.host.snapshot,
					      &now.inspection, now.host.assignments, &m.request,
					      &m.problem),
			 0);
	model_function(&now, "0000:61:00.0")->iommu_group = IOMMU_GROUP_NONE;
	assert_int_equal(plan_check_functions(host_group(&m.host, "pair0"), now.host.snapshot,
					      &now.inspection, now.host.assignments, &m.request,
					      &m.problem),
			 PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_IOMMU_DISABLED);
	problem_free(m.problem);
	model_function(&now, "0000:61:00.0")->bdf.bus = 0x62;
	assert_int_equal(plan_check_functions(host_group(&m.host, "pair0"), now.host.snapshot,
					      &now.inspection, now.host.assignments, &m.request,
					      &m.problem),
			 PROBLEM);
	assert_int_equal(m.problem->error, GPUPASS_ERROR_NO_SUCH_GPU);
	model_done(&now);
	model_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assign_plans_what_is_lacking_and_no_more),
		cmocka_unit_test(assign_defines_the_group_once_and_whole),
		cmocka_unit_test(assign_live_attaches_each_function_in_order),
		cmocka_unit_test(assign_moves_every_function_to_vfio_and_records_where_it_was),
		cmocka_unit_test(assign_again_keeps_the_first_record_s_originals),
		cmocka_unit_test(release_plans_the_way_back),
		cmocka_unit_test(release_writes_a_reset_to_each_function_that_has_one),
		cmocka_unit_test(a_slot_without_a_reset_of_its_own_is_reset_through_vfio),
		cmocka_unit_test(a_slot_of_which_the_host_keeps_a_function_is_not_reset_whole),
		cmocka_unit_test(a_slot_reset_hits_no_other_board),
		cmocka_unit_test(release_restores_driver_override_and_definition),
		cmocka_unit_test(bind_moves_what_is_not_on_vfio),
		cmocka_unit_test(unbind_guesses_only_drivers_that_are_there),
		cmocka_unit_test(unbind_of_what_is_not_bound_changes_nothing),
		cmocka_unit_test(fresh_facts_must_equal_those_of_the_plan),
		cmocka_unit_test(checks_go_by_the_newest_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
