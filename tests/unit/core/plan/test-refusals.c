/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every reason for which plan_make() refuses, by name. */
#include "rig/test.h"

#include "plan-checks.h"

static void two_candidates_of_four(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=other\nGpu=a1:00.0\nGpu=c1:00.0\n");
	model_function(m, "0000:61:00.0")->subsystem_device = 1;
	m->group = "unknown0";
}

static void four_candidates(PlanModel *m)
{
	host_link(&m->host, "0000:02:00.0", "0000:03:00.0", PROVENANCE_PROBED, 4);
	m->group = "unknown0";
}

static void inferred(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n");
}

static void too_few_links(PlanModel *m)
{
	host_link(&m->host, "0000:41:00.0", "0000:61:00.0", PROVENANCE_PROBED, 3);
}

static void declared_member_is_missing(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=e1:00.0\n");
}

static void declared_board_has_no_nvlink(PlanModel *m)
{
	model_function(m, "0000:41:00.0")->device = 0x2684;
	model_function(m, "0000:61:00.0")->device = 0x2684;
	gpu_set_free(m->host.set);
	m->host.set = NULL;
}

static void declared_board_is_sxm(PlanModel *m)
{
	model_function(m, "0000:61:00.0")->device = 0x2330;
	gpu_set_free(m->host.set);
	m->host.set = NULL;
}

static void quarantined(PlanModel *m)
{
	model_domain(m, "q35", NULL);
	model_observe(m);
	host_group(&m->host, "pair0")->state = GROUP_QUARANTINED;
	model_set(&host_group(&m->host, "pair0")->reason, "an unbind never returned");
}

static void job_at_work(PlanModel *m)
{
	model_domain(m, "q35", NULL);
	model_observe(m);
	host_group(&m->host, "pair0")->state = GROUP_BINDING;
}

static void libvirt_is_away(PlanModel *m)
{
	m->without_libvirt = true;
}

TEST(a_group_must_be_known_and_whole)
{
	static const Refusal rows[] = {
		{ "single candidate", two_candidates_of_four, GPUPASS_ERROR_LINKS_UNKNOWN,
		  "which of its GPUs are bridged is not known", "0000:41:00.0",
		  "gpupass declare NAME BDF BDF" },
		{ "four candidates", four_candidates, GPUPASS_ERROR_LINKS_UNKNOWN,
		  "which of its GPUs are bridged is not known", "0000:c1:00.0",
		  "gpupass declare NAME BDF BDF" },
		{ "inferred", inferred, GPUPASS_ERROR_LINKS_UNKNOWN,
		  "its NVLink bridge is inferred, not proven", "0000:41:00.0",
		  "gpupass declare pair0 0000:41:00.0 0000:61:00.0\nor accept all inferred "
		  "groups: AcceptInferred=yes" },
		{ "too few links", too_few_links, GPUPASS_ERROR_NOT_BRIDGED,
		  "cannot be used as it is", "3 of 4 NVLinks", "the bridge is seated" },
		{ "missing member", declared_member_is_missing, GPUPASS_ERROR_NO_SUCH_GPU,
		  "cannot be used as it is", "e1:00.0", "correct the declaration" },
		{ "no NVLink", declared_board_has_no_nvlink, GPUPASS_ERROR_NOT_BRIDGED,
		  "cannot be used as it is", "RTX 4090", "forget pair0" },
		{ "SXM", declared_board_is_sxm, GPUPASS_ERROR_UNSUPPORTED_BOARD,
		  "cannot be used as it is", "H100 SXM5", "forget pair0" },
		{ "quarantined", quarantined, GPUPASS_ERROR_QUARANTINED, "quarantined",
		  "an unbind never returned", "gpupass clear pair0" },
		{ "job at work", job_at_work, GPUPASS_ERROR_GROUP_BUSY, "a job is at work on it",
		  NULL, "gpupass jobs" },
		{ "libvirt away", libvirt_is_away, GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
		  "libvirt does not answer", NULL, "start libvirtd" },
	};

	check_refusals(rows, ELEMENTS(rows));
}

static void no_answer(PlanModel *m)
{
	model_facts(m, "0000:61:00.0")->config_all_ones = true;
}

static void not_inspected(PlanModel *m)
{
	model_facts(m, "0000:61:00.0")->bdf.bus = 0xee;
}

static void held_by_processes(PlanModel *m)
{
	Holder *holder = model_holder(m, "0000:41:00.0", "/dev/nvidia0", false);

	holder->unit = strdup("train.service");
	holder->container = strdup("1f2e3d");
	model_holder(m, "0000:61:00.1", "/dev/snd/controlC1", false);
	model_holder(m, "0000:a1:00.0", "/dev/nvidia2", false); /* of another group */
}

static void held_by_a_known_guest(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_holder(m, "0000:61:00.0", "/dev/vfio/41", true);
}

#define MDEV "4b20d080-1b54-4048-85b3-a6a62d165c01"

static void vgpus_by_mdev(PlanModel *m)
{
	PciMdev *mdev = GROW(m->host.snapshot->mdevs, m->host.snapshot->n_mdevs);

	mdev->uuid = strdup(MDEV);
	mdev->parent = bdf_of("0000:61:00.0");
}

static DomainUse *vgpu_domain(PlanModel *m, bool active, const char *const *functions)
{
	return model_other_domain(m, "desk7", active, functions, NULL);
}

static void mdev_of_a_domain(PlanModel *m)
{
	static const char *const none[] = { NULL };

	vgpus_by_mdev(m);
	/* libvirt writes it in lower case; the kernel's may have been made in upper case. */
	domain_use_add_mdev(vgpu_domain(m, false, none), "4B20D080-1b54-4048-85b3-a6a62d165c01",
			    false, true);
}

static void mdev_of_a_virtual_function(PlanModel *m)
{
	mdev_of_a_domain(m);
	m->host.snapshot->mdevs[0].parent = bdf_of("0000:61:00.4");
	model_function(m, "0000:61:00.0")->vfs_max = 16;
	model_function(m, "0000:61:00.0")->vf_offset = 4;
	model_function(m, "0000:61:00.0")->vf_stride = 1;
}

static void virtual_function_of_a_guest(PlanModel *m)
{
	static const char *const vf[] = { "0000:41:01.3", NULL };
	PciFunction *f;

	vgpu_domain(m, true, vf);
	gpu_set_free(m->host.set);
	m->host.set = NULL;
	f = host_function(&m->host, "0000:41:01.3", 0x030200, 0x2235, "nvidia");
	f->virtual_function = true;
	f->physical = bdf_of("0000:41:00.0");
}

static void virtual_function_that_is_not_there(PlanModel *m)
{
	static const char *const vf[] = { "0000:42:00.3", NULL };

	vgpu_domain(m, false, vf);
	model_function(m, "0000:41:00.0")->vfs_max = 64;
	model_function(m, "0000:41:00.0")->vf_offset = 255;
	model_function(m, "0000:41:00.0")->vf_stride = 4;
}

/* promises O3, U11 */
TEST(a_board_with_a_vgpu_is_in_use)
{
	static const Refusal rows[] = {
		/* fault 18 */
		{ "an mdev", mdev_of_a_domain, GPUPASS_ERROR_HOST_IN_USE,
		  "desk7 has a vGPU of 0000:61:00.0",
		  "shut off) is defined with vGPU " MDEV " of 0000:61:00.0",
		  "take the vGPU out of that domain: virsh edit desk7; then: echo 1 > "
		  "/sys/bus/mdev/devices/" MDEV "/remove" },
		{ "an mdev of a VF", mdev_of_a_virtual_function, GPUPASS_ERROR_HOST_IN_USE,
		  "desk7 has a vGPU of 0000:61:00.0", "vGPU " MDEV " of 0000:61:00.0",
		  "virsh edit desk7" },
		{ "a VF", virtual_function_of_a_guest, GPUPASS_ERROR_HOST_IN_USE,
		  "desk7 has a vGPU of 0000:41:00.0",
		  "running) is running with virtual function 0000:41:01.3 of 0000:41:00.0",
		  "shut it down and take the vGPU out of that domain: virsh edit desk7; then: "
		  "/usr/lib/nvidia/sriov-manage -d 0000:41:00.0" },
		{ "a VF that is not there", virtual_function_that_is_not_there,
		  GPUPASS_ERROR_HOST_IN_USE, "desk7 has a vGPU of 0000:41:00.0",
		  "defined with virtual function 0000:42:00.3 (not there now) of 0000:41:00.0",
		  "virsh edit desk7" },
		{ "an mdev of nobody", vgpus_by_mdev, GPUPASS_ERROR_HOST_IN_USE,
		  "0000:61:00.0 has a vGPU that no domain names", "vGPU " MDEV " of 0000:61:00.0",
		  "mdevctl list" },
	};

	check_refusals(rows, ELEMENTS(rows));
}

/* An address near a board's, but not one that its SR-IOV capability gives to a VF. */
TEST(a_hostdev_that_can_be_no_vf_of_the_group_is_not_taken_for_one)
{
	static const char *const others[] = { "0000:41:00.5", "0000:41:00.2", "0000:42:00.4",
					      "0001:41:00.4" };

	for (size_t i = 0; i < ELEMENTS(others); i++) {
		const char *const functions[] = { others[i], NULL };
		_cleanup_(model_done) PlanModel m = model_new();

		vgpu_domain(&m, false, functions);
		model_function(&m, "0000:41:00.0")->vfs_max = 3;
		model_function(&m, "0000:41:00.0")->vf_offset = 4;
		model_function(&m, "0000:41:00.0")->vf_stride = 2;
		check_planned(&m, others[i]);
	}
}

/* Which of their functions cannot, the register's tests have (core/checks). */
TEST(functions_must_be_there)
{
	static const Refusal rows[] = {
		{ "not inspected", not_inspected, GPUPASS_ERROR_NO_SUCH_GPU,
		  "0000:61:00.0 is no longer there", NULL, "gpupass rescan" },
		{ "known guest", held_by_a_known_guest, GPUPASS_ERROR_HOST_IN_USE,
		  "a guest runs on it", "/dev/vfio/41", "shut that guest down" },
	};

	check_refusals(rows, ELEMENTS(rows));
}

static void release_of_nothing(PlanModel *m)
{
	m->request.operation = OPERATION_RELEASE;
}

static void release_by_nobody(PlanModel *m)
{
	m->request.operation = OPERATION_RELEASE;
	m->without_domain = true;
}

static void release_of_foreign_hostdevs(PlanModel *m)
{
	m->request.operation = OPERATION_RELEASE;
	all_of_it_by_hand(m);
}

static void assigned(PlanModel *m)
{
	m->request.operation = OPERATION_RELEASE;
	model_bind_pair0(m);
	model_record(m, "nvidia", NULL);
	model_domain(m, "q35-eight-ports-assigned", NULL);
}

static void running(PlanModel *m)
{
	assigned(m);
	m->live_xml = domain_fixture("q35-eight-ports-attached");
}

static void release_without_acpi(PlanModel *m)
{
	running(m);
	memcpy(strstr(m->live_xml, "<acpi/>"), "<apci/>", strlen("<apci/>"));
}

static void release_of_multifunction_slots(PlanModel *m)
{
	assigned(m);
	m->live_xml = domain_fixture("q35-eight-ports-assigned");
}

static void release_while_a_half_runs_elsewhere(PlanModel *m)
{
	running(m);
	other_runs_with_one_function_by_hand(m);
}

static void release_while_another_guest_holds(PlanModel *m)
{
	running(m);
	model_holder(m, "0000:41:00.0", "/dev/vfio/33", true);
	model_holder(m, "0000:61:00.0", "/dev/vfio/41", true)->pid = 7;
}

static void release_live_while_shut_off(PlanModel *m)
{
	assigned(m);
	m->request.live = true;
}

static void release_under_a_strange_guest(PlanModel *m)
{
	assigned(m);
	model_holder(m, "0000:61:00.0", "/dev/vfio/41", true);
}

static void release_of_a_dead_gpu(PlanModel *m)
{
	assigned(m);
	no_answer(m);
}

static void release_while_quarantined(PlanModel *m)
{
	assigned(m);
	model_observe(m);
	host_group(&m->host, "pair0")->state = GROUP_QUARANTINED;
}

static void unbind_while_assigned(PlanModel *m)
{
	assigned(m);
	m->request.operation = OPERATION_UNBIND;
	model_observe(m);
	m->without_domain = true;
}

static void unbind_while_a_guest_runs(PlanModel *m)
{
	m->request.operation = OPERATION_UNBIND;
	m->without_domain = true;
	model_bind_pair0(m);
	model_holder(m, "0000:61:00.0", "/dev/vfio/41", true);
}

static void unbind_of_foreign_hostdevs(PlanModel *m)
{
	m->request.operation = OPERATION_UNBIND;
	m->without_domain = true;
	model_bind_pair0(m);
	other_has_one_function_by_hand(m);
}

static void bind_of_foreign_hostdevs(PlanModel *m)
{
	m->request.operation = OPERATION_BIND;
	m->without_domain = true;
	other_has_one_function_by_hand(m);
}

static void bind_of_held_functions(PlanModel *m)
{
	m->request.operation = OPERATION_BIND;
	m->without_domain = true;
	held_by_processes(m);
}

TEST(other_operations_refuse_too)
{
	static const Refusal rows[] = {
		{ "release of nothing", release_of_nothing, GPUPASS_ERROR_NOT_ASSIGNED,
		  "vm42 does not have it", NULL, "gpupass list" },
		{ "release by nobody", release_by_nobody, GPUPASS_ERROR_NOT_ASSIGNED,
		  "no domain has it", NULL, "gpupass list" },
		{ "release of foreign hostdevs", release_of_foreign_hostdevs,
		  GPUPASS_ERROR_FOREIGN_OWNER, "not from gpupass", NULL, "virsh edit vm42" },
		{ "release without ACPI", release_without_acpi, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		  "running vm42 has no ACPI", NULL, "shut it down, then: gpupass release vm42" },
		{ "release of multifunction slots", release_of_multifunction_slots,
		  GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "cannot be unplugged live",
		  "0000:41:00.0 shares its slot", "shut it down, then: gpupass release vm42" },
		{ "half runs elsewhere", release_while_a_half_runs_elsewhere,
		  GPUPASS_ERROR_FOREIGN_OWNER, "vm9 has 0000:61:00.1, without gpupass",
		  "is running with it", "virsh edit vm9" },
		{ "another guest holds", release_while_another_guest_holds,
		  GPUPASS_ERROR_HOST_IN_USE, "a guest runs on it", "(pid 7)", "shut" },
		{ "release live while shut off", release_live_while_shut_off,
		  GPUPASS_ERROR_INVALID_ARGUMENT, "vm42 is shut off", NULL, "--live" },
		{ "release under a strange guest", release_under_a_strange_guest,
		  GPUPASS_ERROR_HOST_IN_USE, "a guest runs on it", "/dev/vfio/41", "shut" },
		/* fault 24 */
		{ "release of a dead GPU", release_of_a_dead_gpu, GPUPASS_ERROR_BIND_FAILED,
		  "does not answer", NULL, "--keep-vfio" },
		{ "release while quarantined", release_while_quarantined, GPUPASS_ERROR_QUARANTINED,
		  "quarantined", NULL, "gpupass clear pair0" },
		{ "unbind while assigned", unbind_while_assigned, GPUPASS_ERROR_GROUP_BUSY,
		  "vm42 has it", NULL, "gpupass release vm42" },
		{ "unbind while a guest runs", unbind_while_a_guest_runs,
		  GPUPASS_ERROR_FOREIGN_OWNER, "a guest that gpupass does not know", NULL, "shut" },
		{ "unbind of foreign hostdevs", unbind_of_foreign_hostdevs,
		  GPUPASS_ERROR_FOREIGN_OWNER, "vm9 has 0000:61:00.1", NULL, "virsh edit vm9" },
		{ "bind of foreign hostdevs", bind_of_foreign_hostdevs, GPUPASS_ERROR_FOREIGN_OWNER,
		  "vm9 has 0000:61:00.1", NULL, "virsh edit vm9" },
		{ "bind of held functions", bind_of_held_functions, GPUPASS_ERROR_HOST_IN_USE,
		  "processes of the host use it", NULL, "stop it" },
	};

	check_refusals(rows, ELEMENTS(rows));
}
