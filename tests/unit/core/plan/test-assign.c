/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plan_make() plans to assign: steps, functions, XML, the record, and what it leaves alone. */
#include "rig/test.h"

#include "plan-checks.h"

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

static void record_lost_up(PlanModel *m)
{
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-attached");
	model_holder(m, "0000:41:00.0", "/dev/vfio/33", true);
}

static void definition_drifted(PlanModel *m)
{
	char *hostdev;

	assigned_cold(m);
	hostdev = strstr(m->config_xml, "<hostdev");
	memcpy(strstr(hostdev, "bus='0x41'"), "bus='0x4f'", strlen("bus='0x4f'"));
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

/* field: host/25 */
static void interrupts_not_remapped(PlanModel *m)
{
	m->inspection.interrupts_known = true;
}

/* field: host/03 */
static void boot_display_on_vfio(PlanModel *m)
{
	FunctionFacts *facts = model_facts(m, "0000:41:00.0");

	cold_bound(m);
	model_function(m, "0000:41:00.0")->boot_vga = true;
	*GROW(facts->bar_holders, facts->n_bar_holders) =
		(BarHolder){ .bar = 1, .name = strdup("BOOTFB") };
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

static void process_unseen(PlanModel *m)
{
	model_unseen(m, UNSEEN_MAPPINGS);
}

static void processes_unseen(PlanModel *m)
{
	for (int i = 0; i < 100; i++)
		model_unseen(m, UNSEEN_REFUSED);
}

#define BIND "bind vfio-pci, "

TEST(assign_plans_what_is_lacking_and_no_more)
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
		/* fault 9 */
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
		/* fault 20 */
		{ "unsafe interrupts", unsafe_interrupts,
		  "preflight, " BIND "define, verify, record", false, true,
		  "vfio_iommu_type1 allows unsafe interrupts; take" },
		{ "interrupts not remapped", interrupts_not_remapped,
		  "preflight, " BIND "define, verify, record", false, true,
		  "interrupts are not remapped: vfio refuses to give a device to a guest; enable" },
		{ "boot display on vfio-pci", boot_display_on_vfio,
		  "preflight, define, verify, record", false, true,
		  "the firmware framebuffer (BOOTFB) holds BAR 1: a guest's start gives" },
		/* Anybody can make one, so it refuses nothing. */
		{ "a process not seen", process_unseen, "preflight, " BIND "define, verify, record",
		  false, true,
		  "whether mole (pid 4711, uid 1000) holds a device is not known: its memory" },
		{ "processes not seen", processes_unseen,
		  "preflight, " BIND "define, verify, record", false, true,
		  "whether 92 more processes" },
		{ "boot display", boot_display_given_up,
		  "preflight, " BIND "define, verify, record", false, true, NULL },
		{ "harmless neighbours", neighbours_that_do_no_harm,
		  "preflight, " BIND "define, verify, record", false, true, NULL },
		{ "neighbour on pci-stub", neighbour_on_stub,
		  "preflight, " BIND "define, verify, record", false, true, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(model_done) PlanModel m = model_new();

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
	}
}

TEST(assign_defines_the_group_once_and_whole)
{
	static void (*const prepare[])(PlanModel *) = { cold, cold_i440fx, up, definition_drifted };

	for (size_t i = 0; i < ELEMENTS(prepare); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainUse use = { 0 };
		_cleanup_(model_done) PlanModel m = model_new();

		prepare[i](&m);
		check_planned(&m, "assign");
		assert_string_equal(m.plan->xml_before, m.config_xml);
		assert_int_equal(domain_use_from_xml(NULL, m.plan->xml_after, &use, &problem), 0);
		assert_true(domain_use_names(&use, "pair0"));
		assert_int_equal(use.n_hostdevs, 4);
		for (size_t k = 0; k < 4; k++)
			assert_string_equal(BDF_TEXT(&use.hostdevs[k].bdf), pair0_functions[k]);
		domain_use_clear(&use);
	}
}

TEST(the_model_of_vfio_pci_is_named_where_libvirt_knows_it)
{
	static const struct {
		uint64_t libvirt;
		const char *driver;
		bool names;
	} rows[] = {
		{ 0, "nvidia", false },
		{ 9010000, "nvidia", false },
		{ 10000000, "nvidia", true },
		{ 12001000, "vfio-pci", true },
		{ 12001000, "nvgrace_gpu_vfio_pci", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		HostFacts host = { .libvirt_version = rows[i].libvirt };
		_cleanup_(model_done) PlanModel m = model_new();

		m.facts = &host;
		cold(&m);
		model_drive(&m, "0000:41:00.0", rows[i].driver, NULL);
		check_planned(&m, "assign");
		if ((strstr(m.plan->xml_after, "model=\"vfio-pci\"") != NULL) != rows[i].names)
			fail_msg("row %zu", i);
		m.facts = NULL;
	}
}

TEST(assign_live_attaches_each_function_in_order)
{
	_cleanup_(model_done) PlanModel m = model_new();

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
}

TEST(assign_moves_every_function_to_vfio_and_records_where_it_was)
{
	const AssignedFunction *recorded;
	_cleanup_(model_done) PlanModel m = model_new();

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
}

/* What the functions were on before the first assignment is what release needs. */
TEST(assign_again_keeps_the_first_record_s_originals)
{
	_cleanup_(model_done) PlanModel m = model_new();

	driver_drifted(&m);
	model_set(&m.host.assignments->items[0]->functions[2].original_driver, "nouveau");
	model_set(&m.host.assignments->items[0]->functions[2].original_override, "nouveau");
	check_planned(&m, "assign");
	assert_string_equal(m.plan->assignment->functions[2].original_driver, "nouveau");
	assert_string_equal(m.plan->assignment->functions[2].original_override, "nouveau");
	assert_string_equal(m.plan->functions[2].from_driver, "nvidia");
}
