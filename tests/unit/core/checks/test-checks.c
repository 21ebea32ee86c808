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
	model_add_nvme(&rig.m);
	rig_report(&rig);
	json_array_foreach (json_object_get(rig.report, "checks"), i, check)
		if (!str_equal(json_string_value(json_object_get(check, "status")), "pass"))
			fail_msg("%s: %s", json_string_value(json_object_get(check, "id")),
				 json_string_value(json_object_get(check, "status")));
}

TEST(what_is_usual_is_no_fault)
{
	SPEAKS("an assigned group", "", assign_pair0(r));
	SPEAKS("the guest that runs on its group", "", assign_pair0(r),
	       model_domain(&r->m, "q35-assigned", "q35-assigned"),
	       model_holder(&r->m, GPU, "/dev/vfio/33", true));
	/* GPUs that are idle, sleep or are moved by a job are not faulty. */
	SPEAKS("what is idle", "", {
		model_set(&model_function(&r->m, GPU)->reset_methods, NULL);
		r->health[0].config.speed = 1;
		r->health[1].config = (PcieConfig){ 0 };
		model_set(&model_function(&r->m, "0000:61:00.0")->power_state, "D3hot");
		r->health[2].ports[0].config.acs = false;
		add(&r->host->cmdline, "vfio-pci.ids=8086:1521");
		add(&r->host->driverctl, NIC " igb");
		add(&r->host->boot, "0000:d1:00.0 missing");
		add(&r->busy, "pair1");
		model_drive(&r->m, "0000:a1:00.1", NULL, "vfio-pci");
	});
}

TEST(a_domain_without_a_group_is_told_so)
{
	SPEAKS("no group", "domain-group domain-machine", r->with_domain = true,
	       model_domain(&r->m, "i440fx", NULL));
	STANDS("domain-hostdevs", "skipped", "", r->with_domain = true,
	       model_domain(&r->m, "i440fx", NULL));
}

TEST(without_gpus_checks_of_gpus_are_skipped)
{
	static const char *const ids[] = { "holders",	"driver", "boot-vga", "virtual-functions",
					   "answers",	"power",  "aer",      "reset",
					   "link-width" };

	for (size_t i = 0; i < ELEMENTS(ids); i++)
		STANDS(ids[i], "skipped", "no GPU", {
			for (size_t k = 0; k < r->m.host.snapshot->n_functions; k++)
				if (pci_function_is_nvidia_gpu(r->m.host.snapshot->functions[k]))
					r->m.host.snapshot->functions[k]->vendor = 0x1002;
			reseal(r);
			host_declare(&r->m.host, "[Group]\nName=p\nGpu=41:00.0\nGpu=61:00.0\n");
		});
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
		found = spoken_by(&rig);
		if (!str_equal(found, golden[i].spoken)) {
			good = false;
			print_error("%s: \"%s\" spoke\n", golden[i].host, found);
		}
	}
	assert_true(good);
}
