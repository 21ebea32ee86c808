/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A healthy host passes every check; then each fault is put into it by itself, and exactly the
 * check about it must speak, by its name, with the address and a remedy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#include "core/doctor.h"
#include "plan-model.h"
#include "util/json.h"

#define GPUS 4
#define GPU "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define PORT "0000:40:01.1"
#define SPOKEN_MAX 64

typedef struct Rig {
	PlanModel m;
	Examination *host;
	GpuHealth health[GPUS];
	char **busy, **quarantined, **open_jobs;
	bool no_inspection, no_host, no_libvirt, with_domain, golden;
	int inspection_error, host_error;
	DoctorSymptom symptom;
	DoctorNotes drift, evidence;
	DoctorDomain domain;
	json_t *report;
} Rig;

static PcieConfig good_link(unsigned type)
{
	return (PcieConfig){
		.read = true,
		.pcie = true,
		.type = type,
		.speed = 4,
		.speed_max = 4,
		.width = 16,
		.width_max = 16,
		.acs = type == PCIE_TYPE_ROOT_PORT,
		.acs_capability = 0x1f,
		.acs_control = 0x1d,
	};
}

static void set(char **text, const char *value)
{
	free(*text);
	*text = value ? strdup(value) : NULL;
}

static void add(char ***list, const char *line)
{
	assert_int_equal(strv_append(list, line), 0);
}

static void rig_init(Rig *rig)
{
	static const char *const leads[GPUS] = { GPU, "0000:61:00.0", "0000:a1:00.0",
						 "0000:c1:00.0" };

	*rig = (Rig){ .symptom = DOCTOR_SYMPTOM_MAX_, .host = calloc(1, sizeof(Examination)) };
	assert_non_null(rig->host);
	model_init(&rig->m);
	for (size_t i = 0; i < GPUS; i++) {
		model_set(&model_function(&rig->m, leads[i])->power_state, "D0");
		rig->health[i] = (GpuHealth){
			.bdf = bdf_of(leads[i]),
			.power_state = strdup("D0"),
			.config = good_link(0),
			.aer = true,
			.correctable = 3,
			.ports = calloc(1, sizeof(HealthPort)),
			.n_ports = 1,
		};
		assert_non_null(rig->health[i].ports);
		rig->health[i].ports[0] = (HealthPort){
			.bdf = bdf_of(PORT),
			.config = good_link(PCIE_TYPE_ROOT_PORT),
		};
	}
	set(&rig->host->nvidia_version, "550.54.15");
	set(&rig->host->libvirt_daemon, "virtqemud (pid 12)");
	add(&rig->host->cmdline, "intel_iommu=on");
	add(&rig->host->iommu_units, "dmar0");
	add(&rig->host->hugepages, "2048 0 0");
	rig->host->interrupts_known = rig->host->interrupts_remapped = true;
	rig->host->systemd = rig->host->bind_enabled = true;
}

static void rig_done(Rig *rig)
{
	json_decref(rig->report);
	for (size_t i = 0; i < GPUS; i++)
		gpu_health_clear(&rig->health[i]);
	examination_free(rig->host);
	strv_free(rig->busy);
	strv_free(rig->quarantined);
	strv_free(rig->open_jobs);
	model_done(&rig->m);
}

static void rig_report(Rig *rig)
{
	PlanModel *m = &rig->m;
	DoctorFacts facts = {
		.snapshot = m->host.snapshot,
		.gpus = m->host.set,
		.assignments = m->host.assignments,
		.policy = &m->policy,
		.inspection = rig->no_inspection ? NULL : &m->inspection,
		.inspection_error = rig->inspection_error,
		.host = rig->no_host ? NULL : rig->host,
		.host_error = rig->host_error,
		.machine = m->facts,
		.health = rig->health,
		.n_health = GPUS,
		.busy = rig->busy,
		.quarantined = rig->quarantined,
		.open_jobs = rig->open_jobs,
		.drift = rig->golden ? NULL : &rig->drift,
		.evidence = rig->golden ? NULL : &rig->evidence,
		.symptom = rig->symptom,
	};
	_cleanup_free_ char *text = NULL;

	if (rig->golden) {
		host_resolve(&m->host);
		host_observe(&m->host, false);
	} else {
		model_observe(m);
	}
	facts.gpus = m->host.set;
	facts.groups = m->host.groups;
	facts.uses = rig->no_libvirt ? NULL : m->host.uses;
	rig->domain = (DoctorDomain){
		.uuid = VM42,
		.name = "vm42",
		.active = m->live_xml != NULL,
		.config_xml = m->config_xml,
		.live_xml = m->live_xml,
	};
	if (rig->with_domain)
		facts.domain = &rig->domain;
	text = doctor_report(&facts);
	assert_non_null(text);
	rig->report = json_loads(text, 0, NULL);
	assert_non_null(rig->report);
}

static const json_t *find_check(const Rig *rig, const char *id)
{
	const json_t *checks = json_object_get(rig->report, "checks"), *check;
	size_t i;

	json_array_foreach (checks, i, check)
		if (str_equal(json_string_value(json_object_get(check, "id")), id))
			return check;
	fail_msg("there is no check %s", id);
	return NULL;
}

static const char *status_of(const Rig *rig, const char *id)
{
	return json_string_value(json_object_get(find_check(rig, id), "status"));
}

/* "answers power": what is not in order. */
static char *spoken(const Rig *rig)
{
	const json_t *checks = json_object_get(rig->report, "checks"), *check;
	_cleanup_strv_ char **ids = NULL;
	size_t i;

	json_array_foreach (checks, i, check) {
		const char *status = json_string_value(json_object_get(check, "status"));

		if (str_equal(status, "warn") || str_equal(status, "fail"))
			add(&ids, json_string_value(json_object_get(check, "id")));
	}
	return strv_join(ids, " ");
}

static bool says(const json_t *check, const char *text)
{
	const json_t *line;
	size_t i;

	json_array_foreach (json_object_get(check, "what"), i, line)
		if (strstr(json_string_value(line), text))
			return true;
	return false;
}

/* ---- faults ---- */

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

static void driver_in_initramfs(Rig *r)
{
	add(&r->host->initramfs, "etc/initramfs-tools/modules:3: nvidia");
}

static void bad_version(Rig *r)
{
	set(&r->host->nvidia_version, "595.58.03");
}

static void persistenced(Rig *r)
{
	add(&r->host->services, "nvidia-persiste (pid 9, unit nvidia-persistenced.service)");
	set(&model_holder(&r->m, GPU, "/dev/nvidia0", false)->command, "nvidia-persiste");
}

static void fabric_manager(Rig *r)
{
	add(&r->host->services, "nv-fabricmanage (pid 9)");
}

static void holder(Rig *r)
{
	model_holder(&r->m, GPU, "/dev/nvidia0", false);
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
	model_drive(&r->m, AUDIO, "pci-stub", NULL);
}

static void driverctl(Rig *r)
{
	add(&r->host->driverctl, AUDIO " vfio-pci");
}

static void managed(Rig *r)
{
	static const char *const functions[] = { GPU, AUDIO, "0000:61:00.0", "0000:61:00.1", NULL };
	DomainUse *use = host_domain(&r->m.host, "vm7", false, functions);

	use->gpupass_group = strdup("pair0");
	use->hostdevs[0].managed = true;
	model_bind_pair0(&r->m);
	host_assignment(&r->m.host, "pair0", "vm7", 1, functions);
}

static void boot_vga(Rig *r)
{
	model_function(&r->m, GPU)->boot_vga = true;
}

static void virtual_functions(Rig *r)
{
	model_facts(&r->m, GPU)->num_vfs = 2;
}

static void all_ones(Rig *r)
{
	r->health[0].config = (PcieConfig){ .read = true, .all_ones = true };
}

static void does_not_end(Rig *r)
{
	gpu_health_clear(&r->health[0]);
	r->health[0] = (GpuHealth){ .bdf = bdf_of(GPU), .error = -ETIMEDOUT };
}

static void cold(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->power_state, "D3cold");
}

static void power_error(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->power_state, "error");
}

static void few_lanes(Rig *r)
{
	r->health[0].config.width = 8;
}

static void narrow_slot(Rig *r)
{
	r->health[0].config.width = 8;
	r->health[0].ports[0].config.width_max = 8;
}

static void slow_in_use(Rig *r)
{
	r->health[2].config.speed = 1;
	model_holder(&r->m, "0000:a1:00.0", "/dev/nvidia2", false);
}

static void fatal_errors(Rig *r)
{
	r->health[0].fatal = 1;
}

static void nonfatal_errors(Rig *r)
{
	r->health[0].nonfatal = 2;
}

static void many_corrected(Rig *r)
{
	r->health[0].correctable = 1000;
}

/* After addresses or ids were changed. */
static void reseal(Rig *r)
{
	gpu_set_free(r->m.host.set);
	r->m.host.set = NULL;
	host_seal(&r->m.host);
}

static void no_reset_of_its_own(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->reset_methods, "bus");
	model_function(&r->m, NIC)->bdf = bdf_of("0000:41:05.0");
	reseal(r);
}

static void memlock(Rig *r)
{
	r->host->memlock_limited = true;
	r->host->memlock_bytes = 8388608;
}

static void no_libvirt(Rig *r)
{
	r->no_libvirt = true;
}

static void undeclared(Rig *r)
{
	host_declare(&r->m.host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n");
}

static void member_missing(Rig *r)
{
	host_declare(&r->m.host, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
				 "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n"
				 "[Group]\nName=pair2\nGpu=d1:00.0\nGpu=e1:00.0\n");
}

static DoctorNote a_note = {
	.group = "pair0",
	.what = "0000:41:00.0 is on nvidia",
	.remedy = "gpupass reconcile",
};

static void drifted(Rig *r)
{
	r->drift = (DoctorNotes){ .items = &a_note, .n_items = 1 };
}

static void stale_evidence(Rig *r)
{
	r->evidence = (DoctorNotes){ .items = &a_note, .n_items = 1 };
}

static void quarantined(Rig *r)
{
	add(&r->quarantined, "pair1: worker 4711 still waits");
}

static void open_job(Rig *r)
{
	add(&r->open_jobs, "job 7 (assign pair0)");
}

static void assign_pair0(Rig *r)
{
	static const char *const functions[] = { GPU, AUDIO, "0000:61:00.0", "0000:61:00.1", NULL };

	model_domain(&r->m, "q35-assigned", NULL);
	model_bind_pair0(&r->m);
	set(&host_assignment(&r->m.host, "pair0", "vm42", 1, functions)->domain_uuid, VM42);
}

static void left_out_at_boot(Rig *r)
{
	assign_pair0(r);
	model_drive(&r->m, GPU, "nvidia", NULL);
	add(&r->host->boot, GPU " taken: nvidia was first");
}

static void not_enabled(Rig *r)
{
	assign_pair0(r);
	r->host->bind_enabled = false;
}

typedef struct Case {
	const char *name;
	void (*fault)(Rig *rig);
	const char *spoken; /* exactly these, in the table's order */
	const char *id, *status;
	const char *text;   /* in one of its lines */
	const char *remedy; /* in it */
} Case;

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
	{ "nvidia in the initramfs", driver_in_initramfs, "initramfs", "initramfs", "warn",
	  "modules:3", "INITRAMFS" },
	{ "a version known to hang", bad_version, "driver-version", "driver-version", "warn",
	  "595.58.03", "another version" },
	{ "persistenced", persistenced, "services", "services", "warn", "persistenced.service",
	  "systemctl stop" },
	{ "Fabric Manager without NVSwitches", fabric_manager, "services", "services", "warn",
	  "no NVSwitch", "fabricmanager" },
	{ "a holder", holder, "holders", "holders", "warn", "python3 (pid 4242", "stop it" },
	{ "a guest that libvirt does not know", foreign_guest, "holders", "holders", "warn",
	  "/dev/vfio/33", "stop it" },
	{ "somebody else's override", foreign_override, "driver", "driver", "warn",
	  "somebody-elses", "driverctl" },
	{ "an unexpected driver", odd_driver, "driver", "driver", "warn", "pci-stub", "unbind" },
	{ "driverctl", driverctl, "driverctl", "driverctl", "warn", AUDIO, "unset-override" },
	{ "managed hostdevs", managed, "managed", "managed", "warn", "vm7", "virsh edit vm7" },
	{ "boot display", boot_vga, "boot-vga", "boot-vga", "warn", GPU, "--allow-boot-vga" },
	{ "virtual functions", virtual_functions, "virtual-functions", "virtual-functions", "warn",
	  GPU, "sriov_numvfs" },
	{ "all ones", all_ones, "answers", "answers", "fail", "all ones", "power-cycle" },
	{ "a GPU that hangs the reader", does_not_end, "answers", "answers", "fail", "does not end",
	  "reboot" },
	{ "D3cold", cold, "power", "power", "warn", "D3cold", "d3cold_allowed" },
	{ "a power state that could not be set", power_error, "power", "power", "fail", GPU,
	  "dmesg" },
	{ "few lanes", few_lanes, "link-width", "link-width", "fail", "x8 of x16", "reseat" },
	{ "a narrow slot", narrow_slot, "link-width", "link-width", "warn", "x8", "wider slot" },
	{ "slow while in use", slow_in_use, "holders link-speed", "link-speed", "warn",
	  "2.5 GT/s of 16 GT/s", "under load" },
	{ "fatal errors", fatal_errors, "aer", "aer", "fail", "1 fatal", "reseat" },
	{ "non-fatal errors", nonfatal_errors, "aer", "aer", "warn", "2 non-fatal", "reseat" },
	{ "many corrected errors", many_corrected, "aer", "aer", "warn", "1000 corrected",
	  "reseat" },
	{ "no reset of its own", no_reset_of_its_own, "reset", "reset", "fail", "0000:41:05.0",
	  "port of its own" },
	{ "memlock", memlock, "memlock", "memlock", "warn", "8 MiB", "CAP_SYS_RESOURCE" },
	{ "libvirt does not answer", no_libvirt, "libvirt", "libvirt", "fail", "domains", "virsh" },
	{ "undeclared boards", undeclared, "groups", "groups", "warn", "pair1 is inferred",
	  "gpupass declare" },
	{ "a group without its boards", member_missing, "groups", "groups", "fail", "pair2",
	  "gpupass status pair2" },
	{ "drift", drifted, "drift", "drift", "warn", "pair0: 0000:41:00.0", "gpupass reconcile" },
	{ "stale evidence", stale_evidence, "evidence", "evidence", "warn", "pair0",
	  "gpupass reconcile" },
	{ "a quarantine", quarantined, "quarantine", "quarantine", "fail", "4711",
	  "gpupass clear pair1" },
	{ "an interrupted job", open_job, "jobs", "jobs", "warn", "job 7", "journalctl" },
	{ "left out at boot", left_out_at_boot, "groups boot", "boot", "fail", "nvidia was first",
	  "gpupass bind" },
	{ "not bound at boot", not_enabled, "boot-unit", "boot-unit", "fail", "reboot",
	  "systemctl enable" },
};

static void each_fault_is_found_by_its_check_and_by_no_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *found = NULL;
		const json_t *check;
		Rig rig;

		rig_init(&rig);
		cases[i].fault(&rig);
		rig_report(&rig);
		found = spoken(&rig);
		if (!str_equal(found, cases[i].spoken))
			fail_msg("%s: \"%s\" spoke", cases[i].name, found);
		check = find_check(&rig, cases[i].id);
		if (!str_equal(status_of(&rig, cases[i].id), cases[i].status))
			fail_msg("%s: %s", cases[i].name, status_of(&rig, cases[i].id));
		if (!says(check, cases[i].text))
			fail_msg("%s: it does not say %s", cases[i].name, cases[i].text);
		if (!strstr(str_or_empty(json_string_value(json_object_get(check, "remedy"))),
			    cases[i].remedy))
			fail_msg("%s: the remedy is %s", cases[i].name,
				 json_string_value(json_object_get(check, "remedy")));
		rig_done(&rig);
	}
}

static void a_healthy_host_passes_every_check(void **state)
{
	const json_t *check;
	size_t i;
	Rig rig;

	(void)state;
	rig_init(&rig);
	rig_report(&rig);
	json_array_foreach (json_object_get(rig.report, "checks"), i, check)
		if (!str_equal(json_string_value(json_object_get(check, "status")), "pass"))
			fail_msg("%s: %s", json_string_value(json_object_get(check, "id")),
				 json_string_value(json_object_get(check, "status")));
	rig_done(&rig);
}

/* A healthy group that runs in its domain is no fault either. */
static void an_assigned_group_is_no_fault(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	rig_init(&rig);
	assign_pair0(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	rig_done(&rig);
}

static void the_guest_that_runs_on_its_group_is_no_holder(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	rig_init(&rig);
	assign_pair0(&rig);
	model_domain(&rig.m, "q35-assigned", "q35-assigned");
	model_holder(&rig.m, GPU, "/dev/vfio/33", true);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	rig_done(&rig);
}

/* Idle GPUs, sleeping ones and those a job moves must not be called faulty. */
static void what_is_usual_is_no_fault(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	rig_init(&rig);
	model_set(&model_function(&rig.m, GPU)->reset_methods, NULL);
	rig.health[0].config.speed = 1;
	rig.health[1].config = (PcieConfig){ 0 };
	model_set(&model_function(&rig.m, "0000:61:00.0")->power_state, "D3hot");
	rig.health[2].ports[0].config.acs = false;
	add(&rig.host->cmdline, "vfio-pci.ids=8086:1521");
	add(&rig.host->driverctl, NIC " igb");
	add(&rig.host->initramfs, "etc/dracut.conf.d/x.conf:1: add_drivers+=\" nvidia \"");
	rig.host->initramfs_hook = true;
	add(&rig.host->boot, "0000:d1:00.0 missing");
	add(&rig.busy, "pair1");
	model_drive(&rig.m, "0000:a1:00.1", NULL, "vfio-pci");
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	rig_done(&rig);
}

static void skipped(Rig *rig, const char *const *ids, const char *why)
{
	for (; *ids; ids++) {
		assert_string_equal(status_of(rig, *ids), "skipped");
		if (!says(find_check(rig, *ids), why))
			fail_msg("%s does not say why", *ids);
	}
}

static void without_facts_checks_are_skipped_and_say_why(void **state)
{
	static const char *const of_host[] = {
		"acs-override", "vfio-ids", "initramfs", "services",  "driver-version",
		"memlock",	"boot",	    "boot-unit", "driverctl", NULL
	};
	static const char *const of_inspection[] = { "noiommu", "vfio", "holders", "driver", NULL };
	static const char *const of_health[] = { "answers", "link-width", "link-speed",
						 "aer",	    "acs",	  NULL };
	static const char *const of_libvirt[] = { "managed", NULL };
	Rig rig;

	(void)state;
	rig_init(&rig);
	rig.no_host = rig.no_inspection = rig.no_libvirt = true;
	rig.host_error = -ETIMEDOUT;
	rig.inspection_error = -EPROTO;
	for (size_t i = 0; i < GPUS; i++) {
		gpu_health_clear(&rig.health[i]);
		rig.health[i].bdf = bdf_of("0000:99:00.0");
	}
	rig_report(&rig);
	skipped(&rig, of_host, "did not end within its time");
	skipped(&rig, of_inspection, strerror(EPROTO));
	skipped(&rig, of_health, "");
	skipped(&rig, of_libvirt, "libvirt");
	rig_done(&rig);
}

static void without_gpus_checks_of_gpus_are_skipped(void **state)
{
	static const char *const ids[] = { "holders",	 "driver", "boot-vga", "virtual-functions",
					   "answers",	 "power",  "aer",      "reset",
					   "link-width", NULL };
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	rig_init(&rig);
	for (size_t i = 0; i < rig.m.host.snapshot->n_functions; i++)
		if (pci_function_is_nvidia_gpu(&rig.m.host.snapshot->functions[i]))
			rig.m.host.snapshot->functions[i].vendor = 0x1002;
	reseal(&rig);
	host_declare(&rig.m.host, "[Group]\nName=p\nGpu=41:00.0\nGpu=61:00.0\n");
	rig_report(&rig);
	skipped(&rig, ids, "no GPU");
	found = spoken(&rig);
	rig_done(&rig);
}

/* ---- a domain ---- */

static void domain_rig(Rig *rig)
{
	rig_init(rig);
	rig->with_domain = true;
	assign_pair0(rig);
}

static void replace(char **xml, const char *old, const char *new)
{
	char *at = strstr(*xml, old), *text;

	if (!at)
		fail_msg("the XML has no %s", old);
	text = strf("%.*s%s%s", (int)(at - *xml), *xml, new, at + strlen(old));
	assert_non_null(text);
	free(*xml);
	*xml = text;
}

static void a_domain_with_its_group_is_in_order(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	domain_rig(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(rig.report, "domain"), "group")),
		"pair0");
	rig_done(&rig);
}

/* What is wrong with another group is not this domain's. */
static void only_its_own_group_is_looked_at(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	domain_rig(&rig);
	rig.health[2].fatal = 1;
	add(&rig.quarantined, "pair1: why");
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
	rig_done(&rig);
}

static void domain_fault(void (*fault)(Rig *rig), const char *expected, const char *id,
			 const char *text)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	domain_rig(&rig);
	fault(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, expected);
	if (!says(find_check(&rig, id), text))
		fail_msg("%s does not say %s", id, text);
	rig_done(&rig);
}

static void low_hard_limit(Rig *rig)
{
	replace(&rig->m.config_xml, "<memory ",
		"<memtune><hard_limit unit='KiB'>1024</hard_limit></memtune><memory ");
}

static void too_few_hugepages(Rig *rig)
{
	replace(&rig->m.config_xml, "<memory ",
		"<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages>"
		"</memoryBacking><memory ");
	add(&rig->host->hugepages, "1048576 1000 1000");
}

static void no_acpi(Rig *rig)
{
	replace(&rig->m.config_xml, "<acpi/>", "");
}

static void faults_of_the_domain_are_found(void **state)
{
	(void)state;
	domain_fault(low_hard_limit, "domain-memlock", "domain-memlock", "1 MiB");
	domain_fault(too_few_hugepages, "domain-hugepages", "domain-hugepages", "0 MiB are free");
	domain_fault(no_acpi, "domain-acpi", "domain-acpi", "no ACPI");
}

static void applied_and_gone(Rig *rig)
{
	static HostNode nodes[] = {
		{ .node = 0, .cpus = (char *)"0-31", .memory_bytes = 128ULL << 30 },
		{ .node = 1, .cpus = (char *)"32-63", .memory_bytes = 128ULL << 30 },
	};
	static const HostFacts machine = { .nodes = nodes, .n_nodes = ELEMENTS(nodes) };

	rig->m.facts = &machine;
	rig->m.host.assignments->items[0]->apply_numa = true;
	for (size_t i = 0; i < rig->m.host.snapshot->n_functions; i++)
		rig->m.host.snapshot->functions[i].numa_node = 0;
}

static void applied_and_changed_by_hand(Rig *rig)
{
	applied_and_gone(rig);
	replace(&rig->m.config_xml, "<vcpu placement='static'>",
		"<numatune><memory mode='strict' nodeset='1'/></numatune>"
		"<vcpu placement='static' cpuset='40'>");
}

/* Not an error of the operator's, and not drift: but worth a word to who asks. */
static void what_was_applied_and_is_not_there_is_told(void **state)
{
	(void)state;
	domain_fault(applied_and_gone, "domain-applied", "domain-applied",
		     "elsewhere than NUMA node 0");
	domain_fault(applied_and_changed_by_hand, "", "domain-applied",
		     "something else in its place");
}

static void a_missing_hostdev_is_named(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	domain_rig(&rig);
	replace(&rig.m.config_xml, "bus='0x61' slot='0x00' function='0x0'",
		"bus='0x99' slot='0x00' function='0x0'");
	rig_report(&rig);
	found = spoken(&rig);
	assert_non_null(strstr(found, "domain-hostdevs"));
	assert_true(says(find_check(&rig, "domain-hostdevs"), "0000:61:00.0"));
	rig_done(&rig);
}

static void a_domain_without_a_group_is_told_so(void **state)
{
	_cleanup_free_ char *found = NULL;
	Rig rig;

	(void)state;
	rig_init(&rig);
	rig.with_domain = true;
	model_domain(&rig.m, "i440fx", NULL);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "domain-group domain-machine");
	assert_string_equal(status_of(&rig, "domain-hostdevs"), "skipped");
	rig_done(&rig);
}

static void a_symptom_leads_to_what_was_found(void **state)
{
	(void)state;
	for (int s = 0; s < DOCTOR_SYMPTOM_MAX_; s++) {
		const json_t *symptom, *suspects;
		Rig rig;

		domain_rig(&rig);
		rig.symptom = (DoctorSymptom)s;
		rig.health[0].config = (PcieConfig){ .read = true, .all_ones = true };
		rig_report(&rig);
		symptom = json_object_get(rig.report, "symptom");
		suspects = json_object_get(symptom, "suspects");
		assert_string_equal(json_string_value(json_object_get(symptom, "name")),
				    doctor_symptom_to_string((DoctorSymptom)s));
		assert_int_equal(json_array_size(suspects), 1);
		assert_string_equal(json_string_value(json_array_get(suspects, 0)), "answers");
		assert_true(json_array_size(json_object_get(symptom, "hints")) >= 3);
		rig_done(&rig);
	}
}

static void counts_add_up(void **state)
{
	const json_t *counts, *value;
	const char *key;
	json_int_t sum = 0;
	Rig rig;

	(void)state;
	rig_init(&rig);
	holder(&rig);
	rig_report(&rig);
	counts = json_object_get(rig.report, "counts");
	json_object_foreach ((json_t *)counts, key, value)
		sum += json_integer_value(value);
	assert_int_equal(sum, json_array_size(json_object_get(rig.report, "checks")));
	assert_int_equal(json_integer_value(json_object_get(counts, "warn")), 1);
	rig_done(&rig);
}

/*
 * The golden hosts, as their snapshots show them: settings and health are not known, which must not
 * make anything up.
 */
static const struct {
	const char *host, *spoken;
} golden[] = {
	{ "a100-pair", "groups" },
	{ "dgx-nvswitch", "groups" },
	{ "four-a6000", "groups" },
	{ "lone-3090", "iommu boot-vga" },
	{ "mixed-a40-a6000", "groups" },
	{ "quad-h200", "" },
	{ "rtx8000-four-functions", "groups" },
	{ "sixteen-a40-declared", "" },
	{ "vmd-a5000", "groups" },
	{ "workstation-3090", "groups" },
};

static char *read_host(const char *name, const char *suffix)
{
	_cleanup_free_ char *path = strf(FIXTURES "/hosts/%s%s", name, suffix);
	char *text = NULL;

	assert_non_null(path);
	return file_read_at(AT_FDCWD, path, 4U * 1024 * 1024, &text, NULL) < 0 ? NULL : text;
}

static void golden_hosts_have_the_faults_written_here(void **state)
{
	bool good = true;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(golden); i++) {
		_cleanup_free_ char *json = read_host(golden[i].host, ".json");
		_cleanup_free_ char *conf = read_host(golden[i].host, ".conf"), *found = NULL;
		Rig rig;

		rig_init(&rig);
		host_done(&rig.m.host);
		host_init(&rig.m.host);
		pci_snapshot_free(rig.m.host.snapshot);
		rig.m.host.snapshot = NULL;
		assert_non_null(json);
		assert_int_equal(
			pci_snapshot_from_json(json, strlen(json), &rig.m.host.snapshot, NULL), 0);
		rig.no_inspection = rig.no_host = true;
		for (size_t k = 0; k < GPUS; k++) {
			gpu_health_clear(&rig.health[k]);
			rig.health[k].bdf = bdf_of("ff:1f.7");
		}
		host_declare(&rig.m.host, conf ? conf : "");
		rig.golden = true;
		rig_report(&rig);
		found = spoken(&rig);
		if (!str_equal(found, golden[i].spoken)) {
			good = false;
			print_error("%s: \"%s\" spoke\n", golden[i].host, found);
		}
		rig_done(&rig);
	}
	assert_true(good);
}

static void every_check_has_a_case(void **state)
{
	(void)state;
	for (size_t i = 0; doctor_check_id(i); i++) {
		bool found = str_starts_with(doctor_check_id(i), "domain-");

		for (size_t k = 0; k < ELEMENTS(cases); k++)
			found |= str_equal(cases[k].id, doctor_check_id(i));
		if (!found)
			fail_msg("no case has a fault for %s", doctor_check_id(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_host_passes_every_check),
		cmocka_unit_test(an_assigned_group_is_no_fault),
		cmocka_unit_test(the_guest_that_runs_on_its_group_is_no_holder),
		cmocka_unit_test(what_is_usual_is_no_fault),
		cmocka_unit_test(each_fault_is_found_by_its_check_and_by_no_other),
		cmocka_unit_test(every_check_has_a_case),
		cmocka_unit_test(golden_hosts_have_the_faults_written_here),
		cmocka_unit_test(without_facts_checks_are_skipped_and_say_why),
		cmocka_unit_test(without_gpus_checks_of_gpus_are_skipped),
		cmocka_unit_test(a_domain_with_its_group_is_in_order),
		cmocka_unit_test(only_its_own_group_is_looked_at),
		cmocka_unit_test(faults_of_the_domain_are_found),
		cmocka_unit_test(what_was_applied_and_is_not_there_is_told),
		cmocka_unit_test(a_missing_hostdev_is_named),
		cmocka_unit_test(a_domain_without_a_group_is_told_so),
		cmocka_unit_test(a_symptom_leads_to_what_was_found),
		cmocka_unit_test(counts_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
