/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of who else uses the GPUs. */
#include "rig/test.h"

#include "checks-rig.h"

static void bad_version(Rig *r)
{
	set(&r->host->nvidia_version, "595.58.03");
}

static void modeset(Rig *r)
{
	r->m.inspection.nvidia_modeset = true;
	set(&r->m.inspection.nvidia_version, "575.64.05");
}

static void persistenced(Rig *r)
{
	/* By this name alone, it may be anybody. */
	add(&r->host->services, "nvidia-persiste (pid 9)");
	set(&model_holder(&r->m, GPU, "/dev/nvidia0", false)->command, "nvidia-persiste");
}

static void dcgm(Rig *r)
{
	add(&r->host->services, "nv-hostengine (pid 9, unit nvidia-dcgm.service)");
	set(&model_holder(&r->m, GPU, "/dev/nvidia0", false)->command, "nv-hostengine");
}

static void fabric_manager(Rig *r)
{
	add(&r->host->services, "nv-fabricmanage (pid 9)");
}

static void foreign_hook(Rig *r)
{
	add(&r->host->host_hooks, "/etc/libvirt/hooks/qemu.d/vm42/prepare/begin/start.sh names "
				  "virsh nodedev-detach pci_0000_41_00_0 at line 3");
}

static void driverctl(Rig *r)
{
	add(&r->host->driverctl, AUDIO " vfio-pci");
}

static void persistenced_service(Rig *r)
{
	add(&r->host->services, "nvidia-persiste (pid 9, unit nvidia-persistenced.service)");
	set(&model_holder(&r->m, GPU, "/dev/nvidia0", false)->command, "nvidia-persiste");
}

static void holder(Rig *r)
{
	model_holder(&r->m, GPU, "/dev/nvidia0", false);
}

static void process_unseen(Rig *r)
{
	model_unseen(&r->m, UNSEEN_FILES);
}

static void foreign_guest(Rig *r)
{
	model_holder(&r->m, GPU, "/dev/vfio/33", true);
}

static void foreign_override(Rig *r)
{
	model_drive(&r->m, AUDIO, "snd_hda_intel", "somebody-elses");
}

static void odd_driver(Rig *r)
{
	model_drive(&r->m, AUDIO, "xen-pciback", NULL);
}

static void pci_stub(Rig *r)
{
	model_drive(&r->m, AUDIO, "pci-stub", NULL);
}

static void two_holders(Rig *r)
{
	Holder *one = model_holder(&r->m, GPU, "/dev/nvidia0", false);

	one->unit = strdup("train.service");
	one->container = strdup("1f2e3d");
	model_holder(&r->m, AUDIO, "/dev/snd/controlC1", false);
}

static void probe_waits(Rig *r)
{
	r->m.inspection.probe_worker = 4711;
}

static void modeset_unknown(Rig *r)
{
	r->m.inspection.nvidia_modeset = true;
}

static void managed(Rig *r)
{
	static const char *const functions[] = { GPU, AUDIO, "0000:61:00.0", "0000:61:00.1", NULL };
	DomainUse *use = host_domain(&r->m.host, "vm7", false, functions);

	strv_append(&use->gpupass_groups, "pair0");
	use->hostdevs[0].managed = true;
	model_bind_pair0(&r->m);
	host_assignment(&r->m.host, "pair0", "vm7", 1, functions);
}

/* field: host/05 */
static void by_argument(Rig *r)
{
	managed(r);
	r->m.host.uses->items[0].hostdevs[0].managed = false;
	r->m.host.uses->items[0].hostdevs[0].argument = true;
}

static void unclear_argument(Rig *r)
{
	managed(r);
	r->m.host.uses->items[0].hostdevs[0].managed = false;
	set(&r->m.host.uses->items[0].unclear, "a device vfio-pci by an open file (fd=)");
}

static const Case cases[] = {
	{ "a version known to hang", bad_version, "driver-version", "driver-version", "warn",
	  "595.58.03", "another version" },
	/* fault N1 */
	{ "nvidia_drm", modeset, "nvidia-drm", "nvidia-drm", "warn", "575.64.05 does not make",
	  "nvidia-drm.modeset=0", "nvidia_drm runs with modeset=1", GPUPASS_ERROR_HOST_IN_USE,
	  "0000:41:00.0, 0000:61:00.0: driver 575.64.05 does not make it let go" },
	{ "called persistenced", persistenced, "services", "services", "warn", "nvidia-persiste",
	  "stop it before assign", "processes of the host use it", GPUPASS_ERROR_HOST_IN_USE },
	{ "DCGM", dcgm, "services", "services", "warn", "nvidia-dcgm.service",
	  "stop it before assign", "processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
	  "nv-hostengine (pid 4242" },
	{ "Fabric Manager without NVSwitches", fabric_manager, "services", "services", "warn",
	  "no NVSwitch", "fabricmanager" },
	{ "a hook that detaches", foreign_hook, "host-hooks", "host-hooks", "warn",
	  "start.sh names virsh nodedev-detach pci_0000_41_00_0 at line 3",
	  "libvirt waits for its hook" },
	{ "driverctl", driverctl, "driverctl", "driverctl", "warn", AUDIO, "unset-override" },
	/* fault 1 */
	{ "a holder", holder, "holders", "holders", "warn", "python3 (pid 4242", "stop it",
	  "processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
	  GPU ": /dev/nvidia0 by python3 (pid 4242)" },
	{ "a process that could not be looked at", process_unseen, "holders", "holders", "warn",
	  "whether mole (pid 4711, uid 1000)", "look at that process" },
	{ "a guest that libvirt does not know", foreign_guest, "holders", "holders", "warn",
	  "/dev/vfio/33", "shut that guest down", "a guest that gpupass does not know runs on it",
	  GPUPASS_ERROR_FOREIGN_OWNER, "/dev/vfio/33" },
	/* fault 16 */
	{ "somebody else's override", foreign_override, "driver", "driver", "warn",
	  "somebody-elses", "driverctl",
	  "" AUDIO " has somebody else's driver_override: somebody-elses",
	  GPUPASS_ERROR_DRIVER_CONFLICT },
	/* fault 10 */
	{ "an unexpected driver", odd_driver, "driver", "driver", "warn", "xen-pciback",
	  "unbind it", AUDIO " is on a driver nobody expected there: xen-pciback",
	  GPUPASS_ERROR_DRIVER_CONFLICT },
	/* field: host/13 */
	{ "pci-stub", pci_stub, "driver", "driver", "warn", "pci-stub",
	  "pci-stub.ids=", AUDIO " is on pci-stub", GPUPASS_ERROR_DRIVER_CONFLICT },
	{ "several holders", two_holders, "holders", "holders", "warn", "controlC1", "stop it",
	  "processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
	  GPU ": /dev/nvidia0 by python3 (pid 4242, unit train.service, container 1f2e3d)\n" AUDIO
	      ": /dev/snd/controlC1 by python3 (pid 4242)" },
	/* fault L16 */
	{ "a probe's worker", probe_waits, "holders", "holders", "warn",
	  "NVML opens every GPU of the nvidia driver", "kill 4711",
	  "worker 4711 of an earlier probe still waits in NVML", GPUPASS_ERROR_HOST_IN_USE },
	{ "nvidia_drm of an unknown release", modeset_unknown, "nvidia-drm", "nvidia-drm", "warn",
	  "the loaded driver is not known to make it let go", "rmmod nvidia_drm",
	  "nvidia_drm runs with modeset=1", GPUPASS_ERROR_HOST_IN_USE },
	{ "managed hostdevs", managed, "managed", "managed", "warn", "vm7", "virsh edit vm7" },
	{ "a board by an argument", by_argument, "qemu-arguments", "qemu-arguments", "warn",
	  "vm7 has 0000:41:00.0 by a QEMU argument", "virsh edit vm7" },
	{ "an argument that cannot be judged", unclear_argument, "qemu-arguments", "qemu-arguments",
	  "warn", "cannot be told: a device vfio-pci by an open file", "virsh edit vm7" },
};

/* promises O3, U11 */
TEST(each_other_user_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), checks_of_use, false);
}

TEST(what_pci_stub_took_is_told_with_the_word_that_had_it)
{
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	add(&rig.host->cmdline, "pci-stub.ids=10de:1aef");
	model_drive(&rig.m, AUDIO, "pci-stub", NULL);
	rig_report(&rig);
	assert_string_equal(status_of(&rig, "driver"), "warn");
	assert_true(says(find_check(&rig, "driver"),
			 "0000:41:00.1 is on pci-stub: pci-stub's ids=10de:1aef on the kernel "
			 "command line takes it at boot"));
}

/* fault N2 */
TEST(a_version_that_the_table_does_not_reach_is_unknown)
{
	static const struct {
		const char *version, *status, *text;
	} rows[] = {
		{ "550.54.15", "pass", "no hang is known" },
		{ "590.48.01", "pass", "no hang is known" },
		{ "470.256.02", "unknown", "does not reach" },
		{ "590.49", "unknown", "does not reach" },
		{ "595.45.04", "warn", "waits for ever" },
		{ "620.1", "unknown", "does not reach" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		set(&rig.host->nvidia_version, rows[i].version);
		rig_report(&rig);
		if (!str_equal(status_of(&rig, "driver-version"), rows[i].status) ||
		    !says(find_check(&rig, "driver-version"), rows[i].text))
			fail_msg("%s: %s", rows[i].version, status_of(&rig, "driver-version"));
	}
}

/* Where it lets go by itself, and where no GPU is on nvidia, nothing is wrong. */
TEST(a_modeset_that_lets_go_is_no_fault)
{
	static const char *const functions[] = { "0000:41:00.0", "0000:61:00.0", "0000:a1:00.0",
						 "0000:c1:00.0" };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		modeset(&rig);
		if (i == 0)
			set(&rig.m.inspection.nvidia_version, "580.105.08");
		for (size_t k = 0; i == 1 && k < ELEMENTS(functions); k++)
			model_drive(&rig.m, functions[k], "vfio-pci", "vfio-pci");
		rig_report(&rig);
		assert_string_equal(status_of(&rig, "nvidia-drm"), "pass");
	}
}

/* fault P9 */
TEST(nvidia_persistenced_is_no_fault)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	persistenced_service(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	assert_true(says(find_check(&rig, "services"), "makes it let go"));
}

/* ---- facts that are missing ---- */

static void not_inspected(Rig *r)
{
	Inspection *inspection = &r->m.inspection;
	const Bdf gpu = bdf_of(GPU);

	for (size_t i = 0; i < inspection->n_functions; i++)
		if (bdf_equal(&inspection->functions[i].bdf, &gpu))
			inspection->functions[i].bdf = bdf_of("0000:99:00.0");
}

static void no_driver_version(Rig *r)
{
	set(&r->host->nvidia_version, NULL);
	add(&r->host->modules, "nvidia");
}

static void new_driver_version(Rig *r)
{
	set(&r->host->nvidia_version, "999.1");
}

static const Lack lacks[] = {
	{ "driver-version", no_host, "within its time" },
	{ "driver-version", no_driver_version, "does not report its version" },
	{ "driver-version", new_driver_version, "does not reach this version" },
	{ "nvidia-drm", no_inspection, "inspected" },
	{ "services", no_host, "within its time" },
	{ "services", files_unread, "/a/file" },
	{ "holders", no_inspection, "inspected" },
	{ "holders", not_inspected, GPU " was not inspected" },
	{ "holders", no_libvirt, "libvirt does not answer" },
	{ "driver", no_inspection, "inspected" },
	{ "driver", not_inspected, GPU " was not inspected" },
	{ "driverctl", no_host, "within its time" },
	{ "driverctl", files_unread, "/a/file" },
	{ "host-hooks", no_host, "within its time" },
	{ "qemu-arguments", no_libvirt, "libvirt does not answer" },
	{ "qemu-arguments", unread_domain, "what vm7 has is not known" },
	{ "managed", no_libvirt, "libvirt does not answer" },
	{ "managed", unread_domain, "what vm7 has is not known" },
};

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	run_lacks(lacks, ELEMENTS(lacks), checks_of_use, "");
}
