/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every reason for which plan_make() refuses, by name. */
#include "rig/test.h"

#include "plan-checks.h"

TEST(a_group_must_be_known_and_whole)
{
	REFUSED("single candidate", GPUPASS_ERROR_LINKS_UNKNOWN,
		"which of its GPUs are bridged is not known", "0000:41:00.0",
		"gpupass declare NAME BDF BDF",
		host_declare(&m->host, "[Group]\nName=other\nGpu=a1:00.0\nGpu=c1:00.0\n"),
		model_function(m, "0000:61:00.0")->subsystem_device = 1, m->group = "unknown0");
	REFUSED("four candidates", GPUPASS_ERROR_LINKS_UNKNOWN,
		"which of its GPUs are bridged is not known", "0000:c1:00.0",
		"gpupass declare NAME BDF BDF",
		host_link(&m->host, "0000:02:00.0", "0000:03:00.0", PROVENANCE_PROBED, 4),
		m->group = "unknown0");
	REFUSED("inferred", GPUPASS_ERROR_LINKS_UNKNOWN,
		"its NVLink bridge is inferred, not proven", "0000:41:00.0",
		"gpupass declare pair0 0000:41:00.0 0000:61:00.0\nor accept all inferred "
		"groups: AcceptInferred=yes",
		infer_pair0(m));
	REFUSED("too few links", GPUPASS_ERROR_NOT_BRIDGED, "cannot be used as it is",
		"3 of 4 NVLinks", "the bridge is seated",
		host_link(&m->host, "0000:41:00.0", "0000:61:00.0", PROVENANCE_PROBED, 3));
	REFUSED("missing member", GPUPASS_ERROR_NO_SUCH_GPU, "cannot be used as it is", "e1:00.0",
		"correct the declaration",
		host_declare(&m->host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=e1:00.0\n"));
	REFUSED("no NVLink", GPUPASS_ERROR_NOT_BRIDGED, "cannot be used as it is", "RTX 4090",
		"forget pair0", {
			model_function(m, "0000:41:00.0")->device = 0x2684;
			model_function(m, "0000:61:00.0")->device = 0x2684;
			m->host.set = gpu_set_free(m->host.set);
		});
	REFUSED("SXM", GPUPASS_ERROR_UNSUPPORTED_BOARD, "cannot be used as it is", "H100 SXM5",
		"forget pair0", model_function(m, "0000:61:00.0")->device = 0x2330,
		m->host.set = gpu_set_free(m->host.set));
	REFUSED("quarantined", GPUPASS_ERROR_QUARANTINED, "quarantined", "an unbind never returned",
		"gpupass clear pair0", {
			model_domain(m, "q35", NULL);
			model_observe(m);
			host_group(&m->host, "pair0")->state = GROUP_QUARANTINED;
			model_set(&host_group(&m->host, "pair0")->reason,
				  "an unbind never returned");
		});
	REFUSED("job at work", GPUPASS_ERROR_GROUP_BUSY, "a job is at work on it", NULL,
		"gpupass jobs", model_domain(m, "q35", NULL), model_observe(m),
		host_group(&m->host, "pair0")->state = GROUP_BINDING);
	REFUSED("libvirt away", GPUPASS_ERROR_LIBVIRT_UNAVAILABLE, "libvirt does not answer", NULL,
		"start libvirtd", m->without_libvirt = true);
}

#define MDEV "4b20d080-1b54-4048-85b3-a6a62d165c01"

static void vgpus_by_mdev(PlanModel *m)
{
	PciMdev *mdev = GROW(m->host.snapshot->mdevs, m->host.snapshot->n_mdevs);

	mdev->uuid = strdup(MDEV);
	mdev->parent = bdf_of("0000:61:00.0");
}

static void has_vfs(PlanModel *m, const char *bdf, unsigned max, unsigned offset, unsigned stride)
{
	PciFunction *function = model_function(m, bdf);

	function->vfs_max = (uint16_t)max;
	function->vf_offset = (uint16_t)offset;
	function->vf_stride = (uint16_t)stride;
}

static void mdev_of_a_domain(PlanModel *m)
{
	vgpus_by_mdev(m);
	/* libvirt writes it in lower case; the kernel's may have been made in upper case. */
	domain_use_add_mdev(model_other_domain(m, "desk7", false, one_function + 1, NULL),
			    "4B20D080-1b54-4048-85b3-a6a62d165c01", false, true);
}

/* promises O3, U11 */
TEST(a_board_with_a_vgpu_is_in_use)
{
	/* fault 18 */
	REFUSED("an mdev", GPUPASS_ERROR_HOST_IN_USE, "desk7 has a vGPU of 0000:61:00.0",
		"shut off) is defined with vGPU " MDEV " of 0000:61:00.0",
		"take the vGPU out of that domain: virsh edit desk7; then: echo 1 > "
		"/sys/bus/mdev/devices/" MDEV "/remove",
		mdev_of_a_domain(m));
	REFUSED("an mdev of a VF", GPUPASS_ERROR_HOST_IN_USE, "desk7 has a vGPU of 0000:61:00.0",
		"vGPU " MDEV " of 0000:61:00.0", "virsh edit desk7", {
			mdev_of_a_domain(m);
			m->host.snapshot->mdevs[0].parent = bdf_of("0000:61:00.4");
			has_vfs(m, "0000:61:00.0", 16, 4, 1);
		});
	REFUSED("a VF", GPUPASS_ERROR_HOST_IN_USE, "desk7 has a vGPU of 0000:41:00.0",
		"running) is running with virtual function 0000:41:01.3 of 0000:41:00.0",
		"shut it down and take the vGPU out of that domain: virsh edit desk7; then: "
		"/usr/lib/nvidia/sriov-manage -d 0000:41:00.0",
		{
			static const char *const vf[] = { "0000:41:01.3", NULL };
			PciFunction *f;

			model_other_domain(m, "desk7", true, vf, NULL);
			m->host.set = gpu_set_free(m->host.set);
			f = host_function(&m->host, "0000:41:01.3", 0x030200, 0x2235, "nvidia");
			f->virtual_function = true;
			f->physical = bdf_of("0000:41:00.0");
		});
	REFUSED("a VF that is not there", GPUPASS_ERROR_HOST_IN_USE,
		"desk7 has a vGPU of 0000:41:00.0",
		"defined with virtual function 0000:42:00.3 (not there now) of 0000:41:00.0",
		"virsh edit desk7", {
			static const char *const vf[] = { "0000:42:00.3", NULL };

			model_other_domain(m, "desk7", false, vf, NULL);
			has_vfs(m, "0000:41:00.0", 64, 255, 4);
		});
	REFUSED("an mdev of nobody", GPUPASS_ERROR_HOST_IN_USE,
		"0000:61:00.0 has a vGPU that no domain names", "vGPU " MDEV " of 0000:61:00.0",
		"mdevctl list", vgpus_by_mdev(m));
}

/* An address near a board's, but not one that its SR-IOV capability gives to a VF. */
TEST(a_hostdev_that_can_be_no_vf_of_the_group_is_not_taken_for_one)
{
	static const char *const others[] = { "0000:41:00.5", "0000:41:00.2", "0000:42:00.4",
					      "0001:41:00.4" };

	for (size_t i = 0; i < ELEMENTS(others); i++)
		ON_MODEL(check_planned(m, others[i]), {
			const char *const functions[] = { others[i], NULL };

			model_other_domain(m, "desk7", false, functions, NULL);
			has_vfs(m, "0000:41:00.0", 3, 4, 2);
		});
}

/* Which of their functions cannot, the register's tests have (core/checks). */
TEST(functions_must_be_there)
{
	REFUSED("not inspected", GPUPASS_ERROR_NO_SUCH_GPU, "0000:61:00.0 is no longer there", NULL,
		"gpupass rescan", model_facts(m, "0000:61:00.0")->bdf.bus = 0xee);
	REFUSED("known guest", GPUPASS_ERROR_HOST_IN_USE, "a guest runs on it", "/dev/vfio/41",
		"shut that guest down", model_record(m, "nvidia", NULL),
		model_holder(m, "0000:61:00.0", "/dev/vfio/41", true));
}

static void assigned(PlanModel *m)
{
	asks(m, OPERATION_RELEASE);
	model_bind_pair0(m);
	model_record(m, "nvidia", NULL);
	model_domain(m, "q35-eight-ports-assigned", NULL);
}

static void running(PlanModel *m)
{
	assigned(m);
	m->live_xml = domain_fixture("q35-eight-ports-attached");
}

TEST(other_operations_refuse_too)
{
	REFUSED("release of nothing", GPUPASS_ERROR_NOT_ASSIGNED, "vm42 does not have it", NULL,
		"gpupass list", asks(m, OPERATION_RELEASE));
	REFUSED("release by nobody", GPUPASS_ERROR_NOT_ASSIGNED, "no domain has it", NULL,
		"gpupass list", asks(m, OPERATION_RELEASE), m->without_domain = true);
	REFUSED("release of foreign hostdevs", GPUPASS_ERROR_FOREIGN_OWNER, "not from gpupass",
		NULL, "virsh edit vm42", asks(m, OPERATION_RELEASE), put_by_hand(m, 4));
	REFUSED("release without ACPI", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"running vm42 has no ACPI", NULL, "shut it down, then: gpupass release vm42",
		running(m), model_edit(&m->live_xml, NULL, "<acpi/>", "<apci/>"));
	REFUSED("release of multifunction slots", GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		"cannot be unplugged live", "0000:41:00.0 shares its slot",
		"shut it down, then: gpupass release vm42", assigned(m),
		m->live_xml = domain_fixture("q35-eight-ports-assigned"));
	REFUSED("half runs elsewhere", GPUPASS_ERROR_FOREIGN_OWNER,
		"vm9 has 0000:61:00.1, without gpupass", "is running with it", "virsh edit vm9",
		running(m), other_runs_with_one_function_by_hand(m));
	REFUSED("another guest holds", GPUPASS_ERROR_HOST_IN_USE, "a guest runs on it", "(pid 7)",
		"shut", running(m), model_holder(m, "0000:41:00.0", "/dev/vfio/33", true),
		model_holder(m, "0000:61:00.0", "/dev/vfio/41", true)->pid = 7);
	REFUSED("release live while shut off", GPUPASS_ERROR_INVALID_ARGUMENT, "vm42 is shut off",
		NULL, "--live", assigned(m), m->request.live = true);
	REFUSED("release under a strange guest", GPUPASS_ERROR_HOST_IN_USE, "a guest runs on it",
		"/dev/vfio/41", "shut", assigned(m),
		model_holder(m, "0000:61:00.0", "/dev/vfio/41", true));
	/* fault 24 */
	REFUSED("release of a dead GPU", GPUPASS_ERROR_BIND_FAILED, "does not answer", NULL,
		"--keep-vfio", assigned(m), model_facts(m, "0000:61:00.0")->config_all_ones = true);
	REFUSED("release while quarantined", GPUPASS_ERROR_QUARANTINED, "quarantined", NULL,
		"gpupass clear pair0", assigned(m), model_observe(m),
		host_group(&m->host, "pair0")->state = GROUP_QUARANTINED);
	REFUSED("unbind while assigned", GPUPASS_ERROR_GROUP_BUSY, "vm42 has it", NULL,
		"gpupass release vm42", {
			assigned(m);
			m->request.operation = OPERATION_UNBIND;
			model_observe(m);
			m->without_domain = true;
		});
	REFUSED("unbind while a guest runs", GPUPASS_ERROR_FOREIGN_OWNER,
		"a guest that gpupass does not know", NULL, "shut", {
			asks(m, OPERATION_UNBIND);
			model_bind_pair0(m);
			model_holder(m, "0000:61:00.0", "/dev/vfio/41", true);
		});
	REFUSED("unbind of foreign hostdevs", GPUPASS_ERROR_FOREIGN_OWNER, "vm9 has 0000:61:00.1",
		NULL, "virsh edit vm9", {
			asks(m, OPERATION_UNBIND);
			model_bind_pair0(m);
			other_has_one_function_by_hand(m);
		});
	REFUSED("bind of foreign hostdevs", GPUPASS_ERROR_FOREIGN_OWNER, "vm9 has 0000:61:00.1",
		NULL, "virsh edit vm9", asks(m, OPERATION_BIND), other_has_one_function_by_hand(m));
	REFUSED("bind of held functions", GPUPASS_ERROR_HOST_IN_USE, "processes of the host use it",
		NULL, "stop it", asks(m, OPERATION_BIND),
		model_holder(m, "0000:41:00.0", "/dev/nvidia0", false));
}
