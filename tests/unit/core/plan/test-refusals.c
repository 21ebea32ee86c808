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

static void iommu_off(PlanModel *m)
{
	m->host.snapshot->iommu = false;
}

static void iommu_group_of_none(PlanModel *m)
{
	model_function(m, "0000:61:00.1")->iommu_group = IOMMU_GROUP_NONE;
}

static void noiommu(PlanModel *m)
{
	m->inspection.noiommu = true;
}

static void vfio_not_loaded(PlanModel *m)
{
	m->inspection.vfio_pci = false;
	m->inspection.vfio_loadable = true;
}

static void vfio_not_there(PlanModel *m)
{
	m->inspection.vfio_pci = false;
}

static void neighbour_on_the_host(PlanModel *m)
{
	model_function(m, NIC)->iommu_group = 41;
}

static void neighbour_of_another_tenant(PlanModel *m)
{
	static const char *const functions[] = { NIC, NULL };

	model_drive(m, NIC, "vfio-pci", "vfio-pci");
	model_function(m, NIC)->iommu_group = 41;
	host_assignment(&m->host, "nics", "vm7", 7, functions);
}

static void no_answer(PlanModel *m)
{
	model_facts(m, "0000:61:00.0")->config_all_ones = true;
}

static void not_inspected(PlanModel *m)
{
	model_facts(m, "0000:61:00.0")->bdf.bus = 0xee;
}

static void virtual_functions(PlanModel *m)
{
	model_facts(m, "0000:41:00.0")->num_vfs = 4;
}

static void vgpu_type_set(PlanModel *m)
{
	FunctionFacts *facts = model_facts(m, "0000:41:00.0");

	facts->num_vfs = 4;
	facts->vgpus = 2;
	facts->vgpu_type = 558;
	facts->vgpu_vf = bdf_of("0000:41:00.5");
}

static void boot_display(PlanModel *m)
{
	model_function(m, "0000:41:00.0")->boot_vga = true;
}

/* field: host/09 */
static void bar_without_address(PlanModel *m)
{
	model_facts(m, "0000:61:00.0")->bars_unset = 1 << 1;
}

static void reserved_by_firmware(PlanModel *m)
{
	model_set(&model_facts(m, "0000:41:00.0")->direct_region, "0x1000-0x1fff");
}

static void foreign_override(PlanModel *m)
{
	model_drive(m, "0000:41:00.1", "snd_hda_intel", "pci-stub");
}

static void unexpected_driver(PlanModel *m)
{
	model_drive(m, "0000:41:00.1", "xen-pciback", NULL);
}

static void pci_stub_has_one(PlanModel *m)
{
	model_drive(m, "0000:41:00.1", "pci-stub", NULL);
}

static void held_by_processes(PlanModel *m)
{
	Holder *holder = model_holder(m, "0000:41:00.0", "/dev/nvidia0", false);

	holder->unit = strdup("train.service");
	holder->container = strdup("1f2e3d");
	model_holder(m, "0000:61:00.1", "/dev/snd/controlC1", false);
	model_holder(m, "0000:a1:00.0", "/dev/nvidia2", false); /* of another group */
}

static void probe_worker_waits(PlanModel *m)
{
	m->inspection.probe_worker = 4711;
}

static void modeset_holds(PlanModel *m)
{
	m->inspection.nvidia_modeset = true;
	model_set(&m->inspection.nvidia_version, "550.54.15");
}

static void modeset_may_hold(PlanModel *m)
{
	m->inspection.nvidia_modeset = true;
}

static void held_by_a_foreign_guest(PlanModel *m)
{
	model_holder(m, "0000:61:00.0", "/dev/vfio/41", true);
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

/* promises O3, U11 */
TEST(functions_must_be_free_to_move)
{
	static const Refusal rows[] = {
		/* fault 20 */
		{ "no IOMMU", iommu_off, GPUPASS_ERROR_IOMMU_DISABLED, "the IOMMU is off", NULL,
		  "intel_iommu=on" },
		{ "no IOMMU group", iommu_group_of_none, GPUPASS_ERROR_IOMMU_DISABLED,
		  "0000:61:00.1 is in no IOMMU group", NULL, "dmesg" },
		/* fault 20 */
		{ "noiommu mode", noiommu, GPUPASS_ERROR_IOMMU_DISABLED, "without protection", NULL,
		  "enable_unsafe_noiommu_mode=0" },
		/* fault 8 */
		{ "vfio-pci not loaded", vfio_not_loaded, GPUPASS_ERROR_VFIO_MISSING,
		  "vfio-pci is not loaded", NULL, "modprobe vfio-pci" },
		/* fault 8 */
		{ "no vfio-pci", vfio_not_there, GPUPASS_ERROR_VFIO_MISSING,
		  "this kernel has no vfio-pci", NULL, "install" },
		/* fault 19 */
		{ "neighbour", neighbour_on_the_host, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
		  "IOMMU group 41 is not viable", NIC " (igb) shares IOMMU group 41", "ACS" },
		{ "second tenant", neighbour_of_another_tenant,
		  GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, "IOMMU group 41 is not viable",
		  NIC " in IOMMU group 41 is assigned to vm7", "ACS" },
		/* fault 24 */
		{ "no answer", no_answer, GPUPASS_ERROR_BIND_FAILED, "0000:61:00.0 does not answer",
		  NULL, "power-cycle" },
		{ "not inspected", not_inspected, GPUPASS_ERROR_NO_SUCH_GPU,
		  "0000:61:00.0 is no longer there", NULL, "gpupass rescan" },
		/* fault 18 */
		{ "VFs", virtual_functions, GPUPASS_ERROR_HOST_IN_USE,
		  "0000:41:00.0 has virtual functions enabled", NULL,
		  "/usr/lib/nvidia/sriov-manage -d 0000:41:00.0; on a host without NVIDIA's vGPU "
		  "manager: echo 0 > /sys/bus/pci/devices/0000:41:00.0/sriov_numvfs" },
		{ "a VF with a vGPU type", vgpu_type_set, GPUPASS_ERROR_HOST_IN_USE,
		  "0000:41:00.0 has a vGPU that no domain names",
		  "2 of its virtual functions have a vGPU type set; 0000:41:00.5 has type 558",
		  "echo 0 > /sys/bus/pci/devices/0000:41:00.5/nvidia/current_vgpu_type; then: "
		  "/usr/lib/nvidia/sriov-manage -d 0000:41:00.0" },
		{ "boot display", boot_display, GPUPASS_ERROR_HOST_IN_USE,
		  "0000:41:00.0 is the host's boot display", NULL, "--allow-boot-vga" },
		{ "no address for a BAR", bar_without_address, GPUPASS_ERROR_UNSUPPORTED_BOARD,
		  "0000:61:00.0: BAR 1 has no address on this host: no guest can use the board",
		  NULL, "Above 4G decoding" },
		{ "an RMRR", reserved_by_firmware, GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
		  "0000:41:00.0: the firmware reserves memory of the host (0x1000-0x1fff)", NULL,
		  "RMRR" },
		/* fault 16 */
		{ "foreign override", foreign_override, GPUPASS_ERROR_DRIVER_CONFLICT,
		  "0000:41:00.1 has somebody else's driver_override pci-stub", NULL,
		  "driverctl list-overrides" },
		/* fault 10 */
		{ "unexpected driver", unexpected_driver, GPUPASS_ERROR_DRIVER_CONFLICT,
		  "0000:41:00.1 is on a driver nobody expected there: xen-pciback", NULL,
		  "unbind it" },
		/* field: host/13 */
		{ "pci-stub", pci_stub_has_one, GPUPASS_ERROR_DRIVER_CONFLICT,
		  "0000:41:00.1 is on pci-stub", NULL, "pci-stub.ids=" },
		/* fault 1 */
		{ "holders", held_by_processes, GPUPASS_ERROR_HOST_IN_USE,
		  "processes of the host use it",
		  "0000:41:00.0: /dev/nvidia0 by python3 (pid 4242, unit train.service, container "
		  "1f2e3d)\n0000:61:00.1: /dev/snd/controlC1 by python3 (pid 4242)",
		  "stop them" },
		/* fault L16 */
		{ "a probe's worker", probe_worker_waits, GPUPASS_ERROR_HOST_IN_USE,
		  "worker 4711 of an earlier probe still waits in NVML",
		  "NVML opens every GPU of the nvidia driver", "kill 4711" },
		/* fault N1 */
		{ "nvidia_drm", modeset_holds, GPUPASS_ERROR_HOST_IN_USE,
		  "nvidia_drm runs with modeset=1",
		  "0000:41:00.0, 0000:61:00.0: driver 550.54.15 does not make it let go",
		  "rmmod nvidia_drm; where a display server uses it, boot with "
		  "nvidia-drm.modeset=0" },
		{ "nvidia_drm of an unknown release", modeset_may_hold, GPUPASS_ERROR_HOST_IN_USE,
		  "nvidia_drm runs with modeset=1",
		  "the loaded driver is not known to make it let go", "rmmod nvidia_drm" },
		{ "foreign guest", held_by_a_foreign_guest, GPUPASS_ERROR_FOREIGN_OWNER,
		  "a guest that gpupass does not know runs on it",
		  "0000:61:00.0: /dev/vfio/41 by python3 (pid 4242)", "shut that guest down" },
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
		  "processes of the host use it", NULL, "stop them" },
	};

	check_refusals(rows, ELEMENTS(rows));
}
