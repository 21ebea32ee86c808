/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of who else uses the GPUs. */
#include "rig/test.h"

#include "checks-rig.h"

static void modeset(Rig *r)
{
	r->m.inspection.nvidia_modeset = true;
	set(&r->m.inspection.nvidia_version, "575.64.05");
}

/* A service by its words, and a holder of its name. */
static void serves(Rig *r, const char *command, const char *service)
{
	add(&r->host->services, service);
	set(&model_holder(&r->m, GPU, "/dev/nvidia0", false)->command, command);
}

static void managed(Rig *r)
{
	model_other_domain(&r->m, "vm7", false, pair0_functions, "pair0")->hostdevs[0].managed =
		true;
	model_bind_pair0(&r->m);
	host_assignment(&r->m.host, "pair0", "vm7", 1, pair0_functions);
}

/* promises O3, U11 */
TEST(each_other_user_is_found_by_its_check_and_by_no_other)
{
	_cleanup_strv_ char **cases = NULL;

	TOLD("a version known to hang", "driver-version", "warn", "595.58.03", "another version",
	     set(&r->host->nvidia_version, "595.58.03"));
	/* fault N1 */
	REFUSED("nvidia_drm", "nvidia-drm", "warn", "575.64.05 does not make",
		"nvidia-drm.modeset=0", "nvidia_drm runs with modeset=1", GPUPASS_ERROR_HOST_IN_USE,
		"0000:41:00.0, 0000:61:00.0: driver 575.64.05 does not make it let go", modeset(r));
	/* By this name alone, it may be anybody. */
	REFUSED("called persistenced", "services", "warn", "nvidia-persiste",
		"stop it before assign", "processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
		NULL, serves(r, "nvidia-persiste", "nvidia-persiste (pid 9)"));
	REFUSED("DCGM", "services", "warn", "nvidia-dcgm.service", "stop it before assign",
		"processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
		"nv-hostengine (pid 4242",
		serves(r, "nv-hostengine", "nv-hostengine (pid 9, unit nvidia-dcgm.service)"));
	TOLD("Fabric Manager without NVSwitches", "services", "warn", "no NVSwitch",
	     "fabricmanager", add(&r->host->services, "nv-fabricmanage (pid 9)"));
	TOLD("a hook that detaches", "host-hooks", "warn",
	     "start.sh names virsh nodedev-detach pci_0000_41_00_0 at line 3",
	     "libvirt waits for its hook",
	     add(&r->host->host_hooks,
		 "/etc/libvirt/hooks/qemu.d/vm42/prepare/begin/start.sh names "
		 "virsh nodedev-detach pci_0000_41_00_0 at line 3"));
	TOLD("driverctl", "driverctl", "warn", AUDIO, "unset-override",
	     add(&r->host->driverctl, AUDIO " vfio-pci"));
	/* fault 1 */
	REFUSED("a holder", "holders", "warn", "python3 (pid 4242", "stop it",
		"processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
		GPU ": /dev/nvidia0 by python3 (pid 4242)",
		model_holder(&r->m, GPU, "/dev/nvidia0", false));
	TOLD("a process that could not be looked at", "holders", "warn",
	     "whether mole (pid 4711, uid 1000)", "look at that process",
	     model_unseen(&r->m, UNSEEN_FILES));
	/* Anybody can make them, so they refuse nothing. */
	TOLD("many of them", "holders", "warn", "whether 92 more processes", "look at that process",
	     {
		     for (int i = 0; i < 100; i++)
			     model_unseen(&r->m, UNSEEN_REFUSED);
	     });
	REFUSED("a guest that libvirt does not know", "holders", "warn", "/dev/vfio/33",
		"shut that guest down", "a guest that gpupass does not know runs on it",
		GPUPASS_ERROR_FOREIGN_OWNER, "/dev/vfio/33",
		model_holder(&r->m, GPU, "/dev/vfio/33", true));
	/* fault 16 */
	REFUSED("somebody else's override", "driver", "warn", "somebody-elses", "driverctl",
		AUDIO " has somebody else's driver_override: somebody-elses",
		GPUPASS_ERROR_DRIVER_CONFLICT, NULL,
		model_drive(&r->m, AUDIO, "snd_hda_intel", "somebody-elses"));
	/* fault 10 */
	REFUSED("an unexpected driver", "driver", "warn", "xen-pciback", "unbind it",
		AUDIO " is on a driver nobody expected there: xen-pciback",
		GPUPASS_ERROR_DRIVER_CONFLICT, NULL,
		model_drive(&r->m, AUDIO, "xen-pciback", NULL));
	/* field: host/13 */
	REFUSED("pci-stub", "driver", "warn", "pci-stub", "pci-stub.ids=", AUDIO " is on pci-stub",
		GPUPASS_ERROR_DRIVER_CONFLICT, NULL, model_drive(&r->m, AUDIO, "pci-stub", NULL));
	REFUSED("several holders", "holders", "warn", "controlC1", "stop it",
		"processes of the host use it", GPUPASS_ERROR_HOST_IN_USE,
		GPU
		": /dev/nvidia0 by python3 (pid 4242, unit train.service, container 1f2e3d)\n" AUDIO
		": /dev/snd/controlC1 by python3 (pid 4242)",
		{
			Holder *one = model_holder(&r->m, GPU, "/dev/nvidia0", false);

			one->unit = strdup("train.service");
			one->container = strdup("1f2e3d");
			model_holder(&r->m, AUDIO, "/dev/snd/controlC1", false);
		});
	/* fault L16 */
	REFUSED("a probe's worker", "holders", "warn", "NVML opens every GPU of the nvidia driver",
		"kill 4711", "worker 4711 of an earlier probe still waits in NVML",
		GPUPASS_ERROR_HOST_IN_USE, NULL, r->m.inspection.probe_worker = 4711);
	REFUSED("nvidia_drm of an unknown release", "nvidia-drm", "warn",
		"the loaded driver is not known to make it let go", "rmmod nvidia_drm",
		"nvidia_drm runs with modeset=1", GPUPASS_ERROR_HOST_IN_USE, NULL,
		r->m.inspection.nvidia_modeset = true);
	TOLD("managed hostdevs", "managed", "warn", "vm7", "virsh edit vm7", managed(r));
	/* field: host/05 */
	TOLD("a board by an argument", "qemu-arguments", "warn",
	     "vm7 has 0000:41:00.0 by a QEMU argument", "virsh edit vm7", managed(r),
	     r->m.host.uses->items[0].hostdevs[0].managed = false,
	     r->m.host.uses->items[0].hostdevs[0].argument = true);
	TOLD("an argument that cannot be judged", "qemu-arguments", "warn",
	     "cannot be told: a device vfio-pci by an open file", "virsh edit vm7", managed(r),
	     r->m.host.uses->items[0].hostdevs[0].managed = false,
	     set(&r->m.host.uses->items[0].unclear, "a device vfio-pci by an open file (fd=)"));
	all_had_cases(cases, checks_of_use, "");
}

TEST(what_pci_stub_took_is_told_with_the_word_that_had_it)
{
	STANDS("driver", "warn",
	       "0000:41:00.1 is on pci-stub: pci-stub's ids=10de:1aef on the kernel command line "
	       "takes it at boot",
	       add(&r->host->cmdline, "pci-stub.ids=10de:1aef"),
	       model_drive(&r->m, AUDIO, "pci-stub", NULL));
}

/* fault N2 */
TEST(a_version_that_the_table_does_not_reach_is_unknown)
{
	static const char *const rows[][3] = {
		{ "550.54.15", "pass", "no hang is known" },
		{ "590.48.01", "pass", "no hang is known" },
		{ "470.256.02", "unknown", "does not reach" },
		{ "590.49", "unknown", "does not reach" },
		{ "595.45.04", "warn", "waits for ever" },
		{ "620.1", "unknown", "does not reach" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		STANDS("driver-version", rows[i][1], rows[i][2],
		       set(&r->host->nvidia_version, rows[i][0]));
}

/* Where it lets go by itself, and where no GPU is on nvidia, nothing is wrong. */
TEST(a_modeset_that_lets_go_is_no_fault)
{
	STANDS("nvidia-drm", "pass", "", modeset(r),
	       set(&r->m.inspection.nvidia_version, "580.105.08"));
	STANDS("nvidia-drm", "pass", "", modeset(r), model_bind_pair0(&r->m),
	       model_drive(&r->m, "0000:a1:00.0", "vfio-pci", "vfio-pci"),
	       model_drive(&r->m, "0000:c1:00.0", "vfio-pci", "vfio-pci"));
}

/* fault P9 */
TEST(nvidia_persistenced_is_no_fault)
{
	static const char persistenced[] =
		"nvidia-persiste (pid 9, unit nvidia-persistenced.service)";

	SPEAKS("its service", "", serves(r, "nvidia-persiste", persistenced));
	STANDS("services", "pass", "makes it let go", serves(r, "nvidia-persiste", persistenced));
}

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("driver-version", "within its time", no_host(r));
	LACKS("driver-version", "does not report its version", set(&r->host->nvidia_version, NULL),
	      add(&r->host->modules, "nvidia"));
	LACKS("driver-version", "does not reach this version",
	      set(&r->host->nvidia_version, "999.1"));
	LACKS("nvidia-drm", "inspected", no_inspection(r));
	LACKS("services", "within its time", no_host(r));
	LACKS("services", "/a/file", files_unread(r));
	LACKS("holders", "inspected", no_inspection(r));
	LACKS("holders", GPU " was not inspected", model_facts(&r->m, GPU)->bdf.bus = 0x99);
	LACKS("holders", "libvirt does not answer", r->no_libvirt = true);
	LACKS("driver", "inspected", no_inspection(r));
	LACKS("driver", GPU " was not inspected", model_facts(&r->m, GPU)->bdf.bus = 0x99);
	LACKS("driverctl", "within its time", no_host(r));
	LACKS("driverctl", "/a/file", files_unread(r));
	LACKS("host-hooks", "within its time", no_host(r));
	LACKS("qemu-arguments", "libvirt does not answer", r->no_libvirt = true);
	LACKS("qemu-arguments", "what vm7 has is not known", unread_domain(r));
	LACKS("managed", "libvirt does not answer", r->no_libvirt = true);
	LACKS("managed", "what vm7 has is not known", unread_domain(r));
	all_had_cases(cases, checks_of_use, "");
}
