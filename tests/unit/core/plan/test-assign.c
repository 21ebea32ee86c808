/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plan_make() plans to assign: steps, functions, XML, the record, and what it leaves alone. */
#include "rig/test.h"

#include "plan-checks.h"

static void up(PlanModel *m)
{
	model_domain(m, "q35-eight-ports", "q35-eight-ports-live");
}

static void definition_drifted(PlanModel *m)
{
	assigned_cold(m);
	model_edit(&m->config_xml, "<hostdev", "bus='0x41'", "bus='0x4f'");
}

#define COLD "preflight, " BIND "define, verify, record"
#define BIND "bind vfio-pci, "

TEST(assign_plans_what_is_lacking_and_no_more)
{
	PLANNED("cold", COLD, NULL, (void)0);
	PLANNED("cold, i440fx", COLD, "i440fx", model_domain(m, "i440fx", NULL));
	/* fault 9 */
	PLANNED("cold, bound", "preflight, define, verify, record", NULL, model_bind_pair0(m));
	PLANNED("running", "preflight, " BIND "attach, define, verify, record", NULL, up(m));
	PLANNED("running, --live", "preflight, " BIND "attach, verify, record",
		"the assignment ends when it is shut off", up(m), m->request.live = true);
	PLANNED("running, --config", COLD, "gets the group at its next start", up(m),
		m->request.config = true);
	PLANNED("running, defined", "preflight, attach, verify, record", NULL,
		model_record(m, "nvidia", NULL), model_bind_pair0(m),
		model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-live"));
	PLANNED("done, cold", "", NULL, assigned_cold(m));
	PLANNED("done, running", "", NULL, assigned_up(m));
	PLANNED("done, running, no override", "", NULL, assigned_up(m),
		model_drive(m, "0000:41:00.0", "vfio-pci", NULL));
	PLANNED("done, inferred", "", NULL, infer_pair0(m), assigned_cold(m));
	PLANNED("record lost", "preflight, verify, record",
		"a release will leave them as they are now", record_lost(m));
	PLANNED("record lost, running", "verify, record",
		"a release will leave them as they are now", model_bind_pair0(m),
		model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-attached"),
		model_holder(m, "0000:41:00.0", "/dev/vfio/33", true));
	PLANNED("driver drifted", "preflight, " BIND "verify, record", NULL, driver_drifted(m));
	PLANNED("definition drifted", "preflight, define, verify, record", NULL,
		definition_drifted(m));
	PLANNED("inferred, accepted", COLD, "the bridge of pair0 is inferred, not proven",
		infer_pair0(m), m->policy.accept_inferred = true);
	PLANNED("boot display", COLD, NULL, model_function(m, "0000:41:00.0")->boot_vga = true,
		m->request.allow_boot_vga = true);
	PLANNED("harmless neighbours", COLD, NULL, {
		/* The bridge of the model shares IOMMU group 33 already. */
		model_drive(m, NIC, NULL, NULL);
		model_function(m, NIC)->iommu_group = 33;
	});
	PLANNED("neighbour on pci-stub", COLD, NULL, model_drive(m, NIC, "pci-stub", NULL),
		model_function(m, NIC)->iommu_group = 33);
}

static void expect_defined(PlanModel *m)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };

	check_planned(m, "assign");
	assert_string_equal(m->plan->xml_before, m->config_xml);
	assert_int_equal(domain_use_from_xml(NULL, m->plan->xml_after, &use, &m->problem), 0);
	assert_true(domain_use_names(&use, "pair0"));
	assert_int_equal(use.n_hostdevs, 4);
	for (size_t k = 0; k < 4; k++)
		assert_string_equal(BDF_TEXT(&use.hostdevs[k].bdf), pair0_functions[k]);
}

TEST(assign_defines_the_group_once_and_whole)
{
	ON_MODEL(expect_defined(m), (void)0);
	ON_MODEL(expect_defined(m), model_domain(m, "i440fx", NULL));
	ON_MODEL(expect_defined(m), up(m));
	ON_MODEL(expect_defined(m), definition_drifted(m));
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
