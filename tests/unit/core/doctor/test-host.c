/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the host's setup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "doctor-rig.h"

static void no_iommu(Rig *r)
{
	r->m.host.snapshot->iommu = false;
}

static void iommu_off_by_hand(Rig *r)
{
	no_iommu(r);
	add(&r->host->cmdline, "intel_iommu=off");
}

static void noiommu_mode(Rig *r)
{
	r->m.inspection.noiommu = true;
}

static void no_remapping(Rig *r)
{
	r->host->interrupts_remapped = false;
}

static void unsafe_interrupts(Rig *r)
{
	r->m.inspection.unsafe_interrupts = true;
}

static void acs_off(Rig *r)
{
	r->health[0].ports[0].config.acs_control = 0;
}

static void acs_override(Rig *r)
{
	add(&r->host->cmdline, "pcie_acs_override=downstream");
}

static void neighbour(Rig *r)
{
	model_function(&r->m, NIC)->iommu_group = 33;
}

static void other_group_beside(Rig *r)
{
	model_function(&r->m, "0000:a1:00.0")->iommu_group = 33;
	model_function(&r->m, "0000:a1:00.1")->iommu_group = 33;
}

static void in_no_iommu_group(Rig *r)
{
	model_function(&r->m, AUDIO)->iommu_group = IOMMU_GROUP_NONE;
}

static void vfio_not_loaded(Rig *r)
{
	r->m.inspection.vfio_pci = false;
	r->m.inspection.vfio_loadable = true;
}

static void no_vfio(Rig *r)
{
	r->m.inspection.vfio_pci = false;
}

static void ids_on_cmdline(Rig *r)
{
	add(&r->host->cmdline, "vfio-pci.ids=8086:1521,10de:2230");
}

static void ids_in_modprobe(Rig *r)
{
	add(&r->host->modprobe, "etc/modprobe.d/v.conf:2: options vfio_pci ids=10DE:2230");
}

static void bad_version(Rig *r)
{
	set(&r->host->nvidia_version, "595.58.03");
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

static void persistenced_service(Rig *r)
{
	add(&r->host->services, "nvidia-persiste (pid 9, unit nvidia-persistenced.service)");
	set(&model_holder(&r->m, GPU, "/dev/nvidia0", false)->command, "nvidia-persiste");
}

static void fabric_manager(Rig *r)
{
	add(&r->host->services, "nv-fabricmanage (pid 9)");
}

static void driverctl(Rig *r)
{
	add(&r->host->driverctl, AUDIO " vfio-pci");
}

static void memlock(Rig *r)
{
	r->host->memlock_limited = true;
	r->host->memlock_bytes = 8388608;
}

static void modeset(Rig *r)
{
	r->m.inspection.nvidia_modeset = true;
	set(&r->m.inspection.nvidia_version, "575.64.05");
}

static const Case cases[] = {
	{ "no IOMMU", no_iommu, "iommu", "iommu", "fail", "no IOMMU groups", "intel_iommu=on" },
	{ "IOMMU switched off", iommu_off_by_hand, "iommu", "iommu", "fail", "off",
	  "take intel_iommu=off off" },
	{ "no-IOMMU mode", noiommu_mode, "noiommu", "noiommu", "fail", "all memory",
	  "enable_unsafe_noiommu_mode=0" },
	{ "no interrupt remapping", no_remapping, "interrupt-remapping", "interrupt-remapping",
	  "fail", "vfio refuses", "x2APIC" },
	{ "unsafe interrupts", unsafe_interrupts, "interrupt-remapping", "interrupt-remapping",
	  "warn", "unsafe", "allow_unsafe_interrupts" },
	{ "ACS turned off", acs_off, "acs", "acs", "fail", PORT, "setpci" },
	{ "ACS override", acs_override, "acs-override", "acs-override", "warn", "downstream",
	  "tenants" },
	{ "a neighbour", neighbour, "iommu-group", "iommu-group", "fail", NIC " (igb)", "ACS" },
	{ "two groups in one IOMMU group", other_group_beside, "iommu-group", "iommu-group", "warn",
	  "pair1", "ACS" },
	{ "in no IOMMU group", in_no_iommu_group, "iommu-group", "iommu-group", "fail", AUDIO,
	  "DMAR" },
	{ "vfio-pci not loaded", vfio_not_loaded, "vfio", "vfio", "warn", "not loaded",
	  "modprobe vfio-pci" },
	{ "no vfio-pci", no_vfio, "vfio", "vfio", "fail", "no vfio-pci", "CONFIG_VFIO_PCI" },
	{ "ids= on the command line", ids_on_cmdline, "vfio-ids", "vfio-ids", "warn", "10de:2230",
	  "ids=" },
	{ "ids= in modprobe.d", ids_in_modprobe, "vfio-ids", "vfio-ids", "warn", "v.conf:2",
	  "ids=" },
	{ "a version known to hang", bad_version, "driver-version", "driver-version", "warn",
	  "595.58.03", "another version" },
	/* fault N1 */
	{ "nvidia_drm", modeset, "nvidia-drm", "nvidia-drm", "warn", "575.64.05 does not make",
	  "nvidia-drm.modeset=0" },
	{ "called persistenced", persistenced, "services", "services", "warn", "nvidia-persiste",
	  "systemctl stop" },
	{ "DCGM", dcgm, "services", "services", "warn", "nvidia-dcgm.service", "systemctl stop" },
	{ "Fabric Manager without NVSwitches", fabric_manager, "services", "services", "warn",
	  "no NVSwitch", "fabricmanager" },
	{ "driverctl", driverctl, "driverctl", "driverctl", "warn", AUDIO, "unset-override" },
	{ "memlock", memlock, "memlock", "memlock", "warn", "8 MiB", "CAP_SYS_RESOURCE" },
};

static void each_fault_of_the_setup_is_found_by_its_check_and_by_no_other(void **state)
{
	(void)state;
	run_cases(cases, ELEMENTS(cases), doctor_host_room, false);
}

/* fault N2 */
static void a_version_that_the_table_does_not_reach_is_unknown(void **state)
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

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Rig rig;

		rig_init(&rig);
		set(&rig.host->nvidia_version, rows[i].version);
		rig_report(&rig);
		if (!str_equal(status_of(&rig, "driver-version"), rows[i].status) ||
		    !says(find_check(&rig, "driver-version"), rows[i].text))
			fail_msg("%s: %s", rows[i].version, status_of(&rig, "driver-version"));
		rig_done(&rig);
	}
}

/* Where it lets go by itself, and where no GPU is on nvidia, nothing is wrong. */
static void a_modeset_that_lets_go_is_no_fault(void **state)
{
	static const char *const functions[] = { "0000:41:00.0", "0000:61:00.0", "0000:a1:00.0",
						 "0000:c1:00.0" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		Rig rig;

		rig_init(&rig);
		modeset(&rig);
		if (i == 0)
			set(&rig.m.inspection.nvidia_version, "580.105.08");
		for (size_t k = 0; i == 1 && k < ELEMENTS(functions); k++)
			model_drive(&rig.m, functions[k], "vfio-pci", "vfio-pci");
		rig_report(&rig);
		assert_string_equal(status_of(&rig, "nvidia-drm"), "pass");
		rig_done(&rig);
	}
}

/* fault P9 */
static void nvidia_persistenced_is_no_fault(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	rig_init(&rig);
	persistenced_service(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	assert_true(says(find_check(&rig, "services"), "asks it to let go"));
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nvidia_persistenced_is_no_fault),
		cmocka_unit_test(a_version_that_the_table_does_not_reach_is_unknown),
		cmocka_unit_test(a_modeset_that_lets_go_is_no_fault),
		cmocka_unit_test(each_fault_of_the_setup_is_found_by_its_check_and_by_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
