/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A healthy host passes every check; a normal state is no fault; without its facts a check is
 * skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#include "doctor-rig.h"

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

/* GPUs that are idle, sleep or are moved by a job are not faulty. */
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
		"acs-override",	  "vfio-ids",	"initramfs", "services",
		"driver-version", "memlock",	"boot",	     "boot-unit",
		"driverctl",	  "host-hooks", NULL
	};
	static const char *const of_inspection[] = { "noiommu", "vfio",	      "holders",
						     "driver",	"nvidia-drm", NULL };
	static const char *const of_health[] = { "answers", "link-width", "link-speed",
						 "aer",	    "acs",	  NULL };
	static const char *const of_libvirt[] = { "managed", "qemu-arguments", NULL };
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
		if (pci_function_is_nvidia_gpu(rig.m.host.snapshot->functions[i]))
			rig.m.host.snapshot->functions[i]->vendor = 0x1002;
	reseal(&rig);
	host_declare(&rig.m.host, "[Group]\nName=p\nGpu=41:00.0\nGpu=61:00.0\n");
	rig_report(&rig);
	skipped(&rig, ids, "no GPU");
	found = spoken(&rig);
	rig_done(&rig);
}

static void a_symptom_leads_to_what_was_found(void **state)
{
	(void)state;
	for (int s = 0; s < DOCTOR_SYMPTOM_MAX_; s++) {
		const json_t *symptom, *suspects;
		Rig rig;

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
	model_holder(&rig.m, GPU, "/dev/nvidia0", false);
	rig_report(&rig);
	counts = json_object_get(rig.report, "counts");
	json_object_foreach ((json_t *)counts, key, value)
		sum += json_integer_value(value);
	assert_int_equal(sum, json_array_size(json_object_get(rig.report, "checks")));
	assert_int_equal(json_integer_value(json_object_get(counts, "warn")), 1);
	rig_done(&rig);
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

static void every_check_is_in_one_room(void **state)
{
	static const char *const *const rooms[] = {
		doctor_host_room, doctor_initramfs_room, doctor_device_room,
		doctor_self_room, doctor_domain_room,
	};
	size_t n = 0, found = 0;

	(void)state;
	for (; doctor_check_id(n); n++)
		for (size_t i = 0; i < ELEMENTS(rooms); i++)
			for (const char *const *id = rooms[i]; *id; id++)
				found += str_equal(*id, doctor_check_id(n));
	assert_int_equal(found, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_healthy_host_passes_every_check),
		cmocka_unit_test(an_assigned_group_is_no_fault),
		cmocka_unit_test(the_guest_that_runs_on_its_group_is_no_holder),
		cmocka_unit_test(what_is_usual_is_no_fault),
		cmocka_unit_test(every_check_is_in_one_room),
		cmocka_unit_test(golden_hosts_have_the_faults_written_here),
		cmocka_unit_test(without_facts_checks_are_skipped_and_say_why),
		cmocka_unit_test(without_gpus_checks_of_gpus_are_skipped),
		cmocka_unit_test(a_symptom_leads_to_what_was_found),
		cmocka_unit_test(counts_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
