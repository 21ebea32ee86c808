/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A healthy host passes every check; a normal state is no fault; without its facts a check is
 * unknown.
 */
#include "rig/test.h"

#include <fcntl.h>

#include "checks-rig.h"

TEST(a_healthy_host_passes_every_check)
{
	const json_t *check;
	size_t i;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	rig_report(&rig);
	json_array_foreach (json_object_get(rig.report, "checks"), i, check)
		if (!str_equal(json_string_value(json_object_get(check, "status")), "pass"))
			fail_msg("%s: %s", json_string_value(json_object_get(check, "id")),
				 json_string_value(json_object_get(check, "status")));
}

/* A healthy group that runs in its domain is no fault either. */
TEST(an_assigned_group_is_no_fault)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	assign_pair0(&rig);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

TEST(the_guest_that_runs_on_its_group_is_no_holder)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	assign_pair0(&rig);
	model_domain(&rig.m, "q35-assigned", "q35-assigned");
	model_holder(&rig.m, GPU, "/dev/vfio/33", true);
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

/* GPUs that are idle, sleep or are moved by a job are not faulty. */
TEST(what_is_usual_is_no_fault)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	model_set(&model_function(&rig.m, GPU)->reset_methods, NULL);
	rig.health[0].config.speed = 1;
	rig.health[1].config = (PcieConfig){ 0 };
	model_set(&model_function(&rig.m, "0000:61:00.0")->power_state, "D3hot");
	rig.health[2].ports[0].config.acs = false;
	add(&rig.host->cmdline, "vfio-pci.ids=8086:1521");
	add(&rig.host->driverctl, NIC " igb");
	add(&rig.host->boot, "0000:d1:00.0 missing");
	add(&rig.busy, "pair1");
	model_drive(&rig.m, "0000:a1:00.1", NULL, "vfio-pci");
	rig_report(&rig);
	found = spoken(&rig);
	assert_string_equal(found, "");
}

/* ---- facts that are missing ---- */

static void no_inspection(Rig *r)
{
	r->no_inspection = true;
	r->inspection_error = -EPROTO;
}

static void not_inspected(Rig *r)
{
	Inspection *inspection = &r->m.inspection;
	const Bdf gpu = bdf_of(GPU);

	for (size_t i = 0; i < inspection->n_functions; i++)
		if (bdf_equal(&inspection->functions[i].bdf, &gpu))
			inspection->functions[i].bdf = bdf_of("0000:99:00.0");
}

static void no_host(Rig *r)
{
	r->no_host = true;
	r->host_error = -ETIMEDOUT;
}

static void no_libvirt(Rig *r)
{
	r->no_libvirt = true;
}

static void unread_domain(Rig *r)
{
	set(&host_domain(&r->m.host, "vm7", false, (const char *const[]){ NULL })->unread, "torn");
}

static void no_version(Rig *r)
{
	r->machine.libvirt_version = 0;
}

static void no_machine(Rig *r)
{
	r->no_machine = true;
}

static void no_nodes(Rig *r)
{
	r->machine.n_nodes = 0;
}

static void bad_xml(Rig *r)
{
	r->bad_xml = true;
}

static void applied(Rig *r)
{
	r->m.host.assignments->items[0]->apply_fit = true;
	r->no_machine = true;
}

static void no_notes(Rig *r)
{
	r->no_notes = true;
}

/* One GPU was not looked at: it sleeps, or its worker failed. */
static void asleep(Rig *r)
{
	gpu_health_clear(&r->health[0]);
	r->health[0].bdf = bdf_of(GPU);
}

static void gpu_not_read(Rig *r)
{
	asleep(r);
	r->health[0].error = -EPROTO;
}

static void port_asleep(Rig *r)
{
	r->health[0].ports[0].config = (PcieConfig){ 0 };
}

static void slow_in_a_guest(Rig *r)
{
	r->health[0].config.speed = 1;
	model_holder(&r->m, GPU, "/dev/vfio/33", true);
}

static void slow_and_not_inspected(Rig *r)
{
	r->health[0].config.speed = 1;
	no_inspection(r);
}

static void slot_not_tried(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->reset_methods, "bus");
}

static void no_power_state(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->power_state, NULL);
}

static void no_aer(Rig *r)
{
	r->health[0].aer = false;
}

static void no_remapping_told(Rig *r)
{
	r->m.inspection.interrupts_known = false;
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

static void no_image(Rig *r)
{
	r->host->image = initramfs_free(r->host->image);
}

static void unread(Rig *r)
{
	static const char *const facts[] = { "cmdline",	  "modprobe", "driverctl",
					     "processes", "memlock",  "boot" };

	for (size_t i = 0; i < ELEMENTS(facts); i++) {
		_cleanup_free_ char *line = strf("%s /a/file: Permission denied", facts[i]);

		add(&r->host->unread, line);
	}
}

static void hook_is_a_script(Rig *r)
{
	set(&r->host->hook_is, "a script");
}

static void hook_not_readable(Rig *r)
{
	set(&r->host->hook_is, NULL);
}

static void hook_not_ordered(Rig *r)
{
	r->host->hook_known = false;
}

static void no_processes(Rig *r)
{
	set(&r->host->libvirt_daemon, NULL);
	unread(r);
}

static void unread_assignment(Rig *r)
{
	Assignments *all = r->m.host.assignments;
	RecordFault *fence = GROW(all->faults.items, all->faults.n_items);

	fence->kind = &assignment_kind;
	fence->file = strdup("x.json");
	fence->why = strdup("torn");
}

/* What no check can pass without. `domain`: of a report about vm42, which has pair0. */
static const struct {
	const char *id;
	void (*take)(Rig *rig);
	const char *text;
	bool domain;
} lacks[] = {
	{ "noiommu", no_inspection, "could not be inspected: Protocol error", false },
	{ "interrupt-remapping", no_remapping_told, "does not report", false },
	{ "interrupt-remapping", no_inspection, "inspected", false },
	{ "acs", asleep, "the ports above " GPU " were not read", false },
	{ "acs", gpu_not_read, "the ports above " GPU " were not read", false },
	{ "acs", port_asleep, PORT ", above " GPU, false },
	{ "acs-override", no_host, "did not end within its time", false },
	{ "acs-override", unread, "not read: /a/file: Permission denied", false },
	{ "reserved-regions", no_inspection, "inspected", false },
	{ "vfio", no_inspection, "inspected", false },
	{ "vfio-ids", no_host, "within its time", false },
	{ "vfio-ids", unread, "/a/file", false },
	{ "initramfs", no_host, "within its time", false },
	{ "initramfs", no_image, "it was not looked for", false },
	{ "initramfs", unread_assignment, "what is assigned is not known", false },
	{ "driver-version", no_host, "within its time", false },
	{ "driver-version", no_driver_version, "does not report its version", false },
	{ "driver-version", new_driver_version, "does not reach this version", false },
	{ "nvidia-drm", no_inspection, "inspected", false },
	{ "services", no_host, "within its time", false },
	{ "services", unread, "/a/file", false },
	{ "holders", no_inspection, "inspected", false },
	{ "holders", not_inspected, GPU " was not inspected", false },
	{ "holders", no_libvirt, "libvirt does not answer", false },
	{ "driver", no_inspection, "inspected", false },
	{ "driver", not_inspected, GPU " was not inspected", false },
	{ "driverctl", no_host, "within its time", false },
	{ "driverctl", unread, "/a/file", false },
	{ "host-hooks", no_host, "within its time", false },
	{ "qemu-arguments", no_libvirt, "libvirt does not answer", false },
	{ "qemu-arguments", unread_domain, "what vm7 has is not known", false },
	{ "framebuffer", no_inspection, "inspected", false },
	{ "bars", no_inspection, "inspected", false },
	{ "managed", no_libvirt, "libvirt does not answer", false },
	{ "managed", unread_domain, "what vm7 has is not known", false },
	{ "answers", asleep, GPU " sleeps or could not be read", false },
	{ "power", no_power_state, GPU ": the kernel does not report", false },
	{ "link-width", asleep, GPU ": no link was read", false },
	{ "link-speed", gpu_not_read, GPU ": no link was read", false },
	{ "link-speed", slow_in_a_guest, "only its guest can tell", false },
	{ "link-speed", slow_and_not_inspected, "is not known", false },
	{ "aer", no_aer, "counts no errors", false },
	{ "aer", asleep, "counts no errors", false },
	{ "reset", slot_not_tried, GPU ": with its whole slot, if it can be", false },
	{ "memlock", no_host, "within its time", false },
	{ "memlock", unread, "/a/file", false },
	{ "libvirt", no_version, "does not tell its version", false },
	{ "libvirt", no_machine, "does not tell its version", false },
	{ "groups", no_libvirt, "libvirt does not answer", false },
	{ "groups", unread_domain, "what vm7 has", false },
	{ "drift", no_notes, "it was not looked for", false },
	{ "drift", no_inspection, "was not inspected", false },
	{ "drift", no_libvirt, "libvirt does not answer", false },
	{ "drift", unread_assignment, "what is assigned is not known", false },
	{ "evidence", no_notes, "it was not looked for", false },
	{ "files", no_notes, "it was not looked for", false },
	{ "tenants", no_notes, "it was not looked for", false },
	{ "tenants", no_libvirt, "libvirt does not answer", false },
	{ "split-groups", no_libvirt, "libvirt does not answer", false },
	{ "split-groups", no_notes, "it was not looked for", false },
	{ "split-groups", unread_domain, "what vm7 has", false },
	{ "fence", no_host, "within its time", false },
	{ "fence", hook_is_a_script, "is a script", false },
	{ "fence", hook_not_readable, "is not readable", false },
	{ "fence", hook_not_ordered, "put there, or replaced, after it started", false },
	{ "fence", no_processes, "/a/file", false },
	{ "boot", no_host, "within its time", true },
	{ "boot", unread, "/a/file", true },
	{ "boot", unread_assignment, "what is assigned is not known", false },
	{ "boot-unit", no_host, "within its time", false },
	{ "boot-unit", unread_assignment, "what is assigned is not known", false },
	{ "domain-group", no_libvirt, "libvirt does not answer", true },
	{ "domain-hostdevs", no_libvirt, "libvirt does not answer", true },
	{ "domain-machine", bad_xml, "not understood", true },
	{ "domain-acpi", bad_xml, "not understood", true },
	{ "domain-window", bad_xml, "not understood", true },
	{ "domain-hugepages", bad_xml, "not understood", true },
	{ "domain-memlock", bad_xml, "not understood", true },
	{ "domain-memlock", no_machine, "its memory", true },
	{ "domain-numa", bad_xml, "not understood", true },
	{ "domain-numa", no_nodes, "its NUMA nodes", true },
	{ "domain-clique", bad_xml, "not understood", true },
	{ "domain-security", bad_xml, "not understood", true },
	{ "domain-applied", applied, "what this host has could not be read", true },
};

/* Their facts are those of the scan, without which there is no report, or the daemon's own. */
static const char *const lack_nothing[] = { "iommu",	  "iommu-group",
					    "boot-vga",	  "virtual-functions",
					    "quarantine", "jobs" };

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	for (size_t i = 0; i < ELEMENTS(lacks); i++) {
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		if (lacks[i].domain)
			assign_pair0(&rig);
		rig.with_domain = lacks[i].domain;
		lacks[i].take(&rig);
		rig_report(&rig);
		if (!str_equal(status_of(&rig, lacks[i].id), "unknown") ||
		    !says(find_check(&rig, lacks[i].id), lacks[i].text))
			fail_msg("row %zu: %s is %s, or does not say \"%s\"", i, lacks[i].id,
				 status_of(&rig, lacks[i].id), lacks[i].text);
	}
}

TEST(every_check_names_its_evidence_and_what_it_lacks)
{
	const json_t *check;
	size_t i;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	assign_pair0(&rig);
	rig.with_domain = true;
	rig_report(&rig);
	json_array_foreach (json_object_get(rig.report, "checks"), i, check) {
		const char *id = json_string_value(json_object_get(check, "id"));
		bool found = false;

		assert_false(str_is_empty(json_string_value(json_object_get(check, "evidence"))));
		for (size_t k = 0; k < ELEMENTS(lacks); k++)
			found |= str_equal(lacks[k].id, id);
		for (size_t k = 0; k < ELEMENTS(lack_nothing); k++)
			found |= str_equal(lack_nothing[k], id);
		if (!found)
			fail_msg("no row says what %s lacks when it is unknown", id);
	}
}

static void skipped(Rig *rig, const char *const *ids, const char *why)
{
	for (; *ids; ids++) {
		assert_string_equal(status_of(rig, *ids), "skipped");
		if (!says(find_check(rig, *ids), why))
			fail_msg("%s does not say why", *ids);
	}
}

TEST(without_gpus_checks_of_gpus_are_skipped)
{
	static const char *const ids[] = { "holders",	 "driver", "boot-vga", "virtual-functions",
					   "answers",	 "power",  "aer",      "reset",
					   "link-width", NULL };
	_cleanup_free_ char *found = NULL;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	for (size_t i = 0; i < rig.m.host.snapshot->n_functions; i++)
		if (pci_function_is_nvidia_gpu(rig.m.host.snapshot->functions[i]))
			rig.m.host.snapshot->functions[i]->vendor = 0x1002;
	reseal(&rig);
	host_declare(&rig.m.host, "[Group]\nName=p\nGpu=41:00.0\nGpu=61:00.0\n");
	rig_report(&rig);
	skipped(&rig, ids, "no GPU");
	found = spoken(&rig);
}

TEST(a_symptom_leads_to_what_was_found)
{
	for (int s = 0; s < DOCTOR_SYMPTOM_MAX_; s++) {
		const json_t *symptom, *suspects;
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		rig.with_domain = true;
		assign_pair0(&rig);
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
	}
}

TEST(counts_add_up)
{
	const json_t *counts, *value;
	const char *key;
	json_int_t sum = 0;
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	model_holder(&rig.m, GPU, "/dev/nvidia0", false);
	rig_report(&rig);
	counts = json_object_get(rig.report, "counts");
	json_object_foreach ((json_t *)counts, key, value)
		sum += json_integer_value(value);
	assert_int_equal(sum, json_array_size(json_object_get(rig.report, "checks")));
	assert_int_equal(json_integer_value(json_object_get(counts, "warn")), 1);
}

/*
 * The golden hosts: their snapshots say nothing about settings and health, and doctor must not
 * invent findings.
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

	return file_read_at(AT_FDCWD, path, 4U * 1024 * 1024, &text, NULL) < 0 ? NULL : text;
}

TEST(golden_hosts_have_the_faults_written_here)
{
	bool good = true;

	for (size_t i = 0; i < ELEMENTS(golden); i++) {
		_cleanup_free_ char *json = read_host(golden[i].host, ".json");
		_cleanup_free_ char *conf = read_host(golden[i].host, ".conf"), *found = NULL;
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		host_done(&rig.m.host);
		rig.m.host = host_new();
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
	}
	assert_true(good);
}
