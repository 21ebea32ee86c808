/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group's NIC is planned, given and refused with its GPUs. */
#include "rig/test.h"

#include "plan-checks.h"

#define PAIR "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
#define WITH_NIC PAIR "With=nic:02:00.0\nWholeNic=yes\n"
#define WITH_VF PAIR "With=vf:02:00.0\nVlan=42\n"
#define VENDOR_MELLANOX 0x15b3

/* Nobody uses it, and it can be reset. */
static PlanModel with_nic(const char *declaration)
{
	PlanModel m = model_new();
	NicUse *use = GROW(m.inspection.nics, m.inspection.n_nics);

	host_declare(&m.host, declaration);
	use->bdf = bdf_of(NIC);
	model_facts(&m, NIC)->network = true;
	model_function(&m, NIC)->reset_methods = xstrdup("flr bus");
	return m;
}

static AssignedFunction *add_to_record(Assignment *record, const PciFunction *f)
{
	record->functions =
		xreallocarray(record->functions, record->n_functions + 1, sizeof(AssignedFunction));
	record->functions[record->n_functions] = (AssignedFunction){ .bdf = f->bdf, PCI_IDS_OF(f) };
	return &record->functions[record->n_functions++];
}

TEST(a_nic_is_bound_reset_and_defined_with_its_pair)
{
	PlanModel m = with_nic(WITH_NIC);
	const PlanFunction *nic;

	model_set(&model_facts(&m, NIC)->serial_number, "00-02-c9");
	if (model_plan(&m) != 0)
		fail_msg("%s: %s", m.problem->reason, str_or_empty(m.problem->cause));
	assert_int_equal(m.plan->n_functions, 5);
	nic = &m.plan->functions[4];
	assert_string_equal(BDF_TEXT(&nic->bdf), NIC);
	assert_string_equal(nic->from_driver, "igb");
	assert_string_equal(nic->to_driver, "vfio-pci");
	assert_int_equal(nic->reset, PLAN_RESET_OWN);
	assert_string_equal(nic->reset_method, "flr");
	assert_true(plan_has_step(m.plan, STEP_RESET));
	/* The pair was nobody's: its links lead to no NIC. */
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(m.plan->functions[i].reset, PLAN_RESET_NOT);
	assert_int_equal(m.plan->n_boards, 3);
	assert_non_null(strstr(m.plan->xml_after, "bus=\"0x02\""));
	assert_non_null(strstr(m.plan->xml_after, "ua-gpupass-pair0-4"));
	assert_int_equal(m.plan->assignment->n_functions, 5);
	assert_string_equal(m.plan->assignment->functions[4].original_driver, "igb");
	/* Only that tells it from the host's own of the same model. */
	assert_string_equal(m.plan->assignment->functions[4].serial_number, "00-02-c9");
	model_done(&m);
}

static void is_of_switches(PlanModel *m)
{
	model_function(m, NIC)->vendor = VENDOR_MELLANOX;
	model_facts(m, NIC)->vpd_read = model_facts(m, NIC)->sw_mng = true;
}

static void has_no_vpd(PlanModel *m)
{
	model_function(m, NIC)->vendor = VENDOR_MELLANOX;
}

static void cannot_be_reset(PlanModel *m)
{
	free(model_function(m, NIC)->reset_methods);
	model_function(m, NIC)->reset_methods = xstrdup("pm");
	host_function(&m->host, "0000:02:01.0", 0x010601, 0x1234, NULL);
}

static void shares_its_iommu_group(PlanModel *m)
{
	host_function(&m->host, "0000:03:00.0", 0x0c0330, 0x1234, "xhci_hcd")->iommu_group = 12;
}

static void has_vfs(PlanModel *m)
{
	model_function(m, NIC)->has_vfs = true;
}

static void is_at_programs(PlanModel *m)
{
	model_drive(m, NIC, "uio_pci_generic", NULL);
}

static void is_an_nvme(PlanModel *m)
{
	m->tenants = xcalloc(1, sizeof(Tenants));
	model_function(m, NIC)->class_code = 0x010802;
	model_facts(m, NIC)->nvme = true;
}

static NicUse *is_a_vf(PlanModel *m)
{
	model_function(m, NIC)->virtual_function = true;
	model_facts(m, NIC)->vf = true;
	m->inspection.nics[0].vf_read = m->inspection.nics[0].spoof_check = true;
	return &m->inspection.nics[0];
}

static void is_a_vf_without_check(PlanModel *m)
{
	is_a_vf(m)->spoof_check = false;
}

static void is_a_trusted_vf(PlanModel *m)
{
	is_a_vf(m)->trusted = true;
}

static void is_a_vf_of_nobody(PlanModel *m)
{
	NicUse *use = is_a_vf(m);

	use->vf_read = false;
	use->vf_why = xstrdup("it does not tell");
}

static void is_a_vf_of_infiniband(PlanModel *m)
{
	is_a_vf(m);
	model_function(m, NIC)->class_code = 0x020700;
}

static void is_gone(PlanModel *m)
{
	model_function(m, NIC)->bdf = bdf_of("0000:05:00.0");
}

static void is_held(PlanModel *m)
{
	model_holder(m, NIC, "/dev/vfio/12", true);
}

/* promise M2 */
TEST(what_keeps_a_companion_from_a_domain_refuses_by_name)
{
	static const struct {
		const char *declaration;
		void (*fault)(PlanModel *m);
		GpupassError error;
		const char *tells;
	} rows[] = {
		{ WITH_NIC, is_of_switches, GPUPASS_ERROR_UNSUPPORTED_BOARD,
		  NIC " manages the NVSwitches of this host (SW_MNG in its VPD)" },
		{ WITH_NIC, has_no_vpd, GPUPASS_ERROR_UNSUPPORTED_BOARD,
		  "whether " NIC " manages NVSwitches is not known: its VPD was not read" },
		{ WITH_NIC, cannot_be_reset, GPUPASS_ERROR_RESET_FAILED, NIC },
		{ WITH_NIC, shares_its_iommu_group, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
		  "0000:03:00.0 (xhci_hcd) shares IOMMU group 12 with " NIC " of pair0" },
		{ WITH_NIC, has_vfs, GPUPASS_ERROR_HOST_IN_USE,
		  NIC " has virtual functions enabled" },
		{ WITH_NIC, is_at_programs, GPUPASS_ERROR_DRIVER_CONFLICT,
		  NIC " is on a driver nobody expected there: uio_pci_generic" },
		{ WITH_NIC, is_gone, GPUPASS_ERROR_SPLIT_GROUP, "there is nothing at " NIC },
		{ WITH_NIC, is_held, GPUPASS_ERROR_FOREIGN_OWNER,
		  "a guest that gpupass does not know runs on it" },
		{ PAIR "With=nic:02:00.0\n", NULL, GPUPASS_ERROR_SPLIT_GROUP,
		  NIC " is a whole NIC, which a tenant can re-flash" },
		{ PAIR "With=nvme:02:00.0\n", is_an_nvme, GPUPASS_ERROR_HOST_IN_USE,
		  NIC " was not erased by gpupass, and nobody said that it may be" },
		{ WITH_VF, is_a_vf_without_check, GPUPASS_ERROR_HOST_IN_USE,
		  NIC " may send as another: spoof check off, trust off" },
		{ WITH_VF, is_a_trusted_vf, GPUPASS_ERROR_HOST_IN_USE,
		  NIC " may send as another: spoof check on, trust on" },
		{ WITH_VF, is_a_vf_of_nobody, GPUPASS_ERROR_HOST_IN_USE,
		  "what " NIC " may do is not known: it does not tell" },
		{ WITH_VF, is_a_vf_of_infiniband, GPUPASS_ERROR_HOST_IN_USE,
		  NIC " is no Ethernet VF" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PlanModel m = with_nic(rows[i].declaration);

		if (rows[i].fault)
			rows[i].fault(&m);
		gpu_set_free(m.host.set);
		m.host.set = NULL;
		host_seal(&m.host);
		assert_int_equal(model_plan(&m), PROBLEM);
		if (m.problem->error != rows[i].error ||
		    !(strstr(m.problem->reason, rows[i].tells) ||
		      strstr(str_or_empty(m.problem->cause), rows[i].tells)))
			fail_msg("row %zu: %s, %s", i, m.problem->reason,
				 str_or_empty(m.problem->cause));
		assert_null(m.plan);
		model_done(&m);
	}
}

TEST(a_vf_is_given_as_an_interface_and_its_nic_need_not_be_whole)
{
	PlanModel m = with_nic(WITH_VF);

	is_a_vf(&m);
	gpu_set_free(m.host.set);
	m.host.set = NULL;
	host_seal(&m.host);
	if (model_plan(&m) != 0)
		fail_msg("%s: %s", m.problem->reason, str_or_empty(m.problem->cause));
	assert_int_equal(m.plan->n_functions, 5);
	assert_int_equal(m.plan->functions[4].vlan, 42);
	assert_null(m.plan->functions[3].mac);
	assert_non_null(strstr(m.plan->xml_after, m.plan->functions[4].mac));
	assert_non_null(strstr(m.plan->xml_after, "<tag id=\"42\"/>"));
	model_done(&m);
}

TEST(a_release_promises_no_way_around_a_companion_s_reset)
{
	PlanModel m = with_nic(WITH_NIC);
	PciFunction *nic = model_function(&m, NIC);

	m.request.operation = OPERATION_RELEASE;
	assigned_cold(&m);
	add_to_record(m.host.assignments->items[0], nic);
	model_drive(&m, NIC, "vfio-pci", "vfio-pci");
	model_set(&nic->reset_methods, "pm");
	host_function(&m.host, "0000:02:00.1", 0x020000, 0x1234, "igb");
	check_planned(&m, "release");
	check_warning(&m, "release", "no domain gets it before it can be reset");
	for (char **warning = m.plan->warnings; warning && *warning; warning++)
		assert_null(strstr(*warning, "--accept-dirty"));
	model_done(&m);
}

/* The host's own NIC of that model is there now. */
TEST(another_serial_number_than_the_record_s_is_another_board)
{
	PlanModel m = with_nic(WITH_NIC);
	Assignment *record = model_record(&m, "nvidia", NULL);
	PciFunction *nic = model_function(&m, NIC);

	add_to_record(record, nic)->serial_number = xstrdup("00-02-c9-01");
	model_set(&model_facts(&m, NIC)->serial_number, "00-02-c9-02");
	assert_int_equal(model_plan(&m), PROBLEM);
	assert_string_equal(m.problem->reason, "its boards are not those that were assigned");
	assert_non_null(
		strstr(m.problem->cause, "serial number 00-02-c9-02 now and had 00-02-c9-01"));
	assert_non_null(strstr(m.problem->remedy, "put them back where they were; or"));
	model_done(&m);
}
