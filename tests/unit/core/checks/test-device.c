/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the boards, their drivers and holders. */
#include "rig/test.h"

#include "checks-rig.h"

static void boot_vga(Rig *r)
{
	model_function(&r->m, GPU)->boot_vga = true;
}

/* field: host/03 */
static void framebuffer(Rig *r)
{
	FunctionFacts *facts = model_facts(&r->m, GPU);

	boot_vga(r);
	for (size_t i = 0; i < 4; i++)
		model_drive(&r->m,
			    (const char *[]){ GPU, AUDIO, "0000:61:00.0", "0000:61:00.1" }[i],
			    "vfio-pci", "vfio-pci");
	*GROW(facts->bar_holders, facts->n_bar_holders) =
		(BarHolder){ .bar = 1, .name = strdup("BOOTFB") };
}

/* field: host/09 */
static void no_address(Rig *r)
{
	model_facts(&r->m, GPU)->bars_unset = 1 << 1;
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

static void no_method_last_time(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->reset_methods, "bus");
	r->resets[0] = (LastReset){ bdf_of(GPU), true, false, (char *)GPU ": no method" };
}

static void no_reset_of_its_own(Rig *r)
{
	model_set(&model_function(&r->m, GPU)->reset_methods, "bus");
	model_function(&r->m, NIC)->bdf = bdf_of("0000:41:05.0");
	reseal(r);
}

static void boot_vga_on_a_variant(Rig *r)
{
	boot_vga(r);
	model_drive(&r->m, GPU, "nvgrace_gpu", NULL);
	model_facts(&r->m, GPU)->vfio_dev = model_function(&r->m, GPU)->vfio_dev = true;
}

static void audio_virtual_functions(Rig *r)
{
	model_facts(&r->m, AUDIO)->num_vfs = 2;
}

static void vgpu_type(Rig *r)
{
	FunctionFacts *facts = model_facts(&r->m, GPU);

	facts->num_vfs = 4;
	facts->vgpus = 2;
	facts->vgpu_type = 558;
	facts->vgpu_vf = bdf_of("0000:41:00.5");
}

static void no_answer_in_time(Rig *r)
{
	model_facts(&r->m, AUDIO)->config_all_ones = true;
}

static const Case cases[] = {
	{ "boot display", boot_vga, "boot-vga", "boot-vga", "warn", GPU, "--allow-boot-vga",
	  "" GPU " is the host's boot display", GPUPASS_ERROR_HOST_IN_USE },
	{ "a framebuffer", framebuffer, "framebuffer", "framebuffer", "warn", "holds BAR 1",
	  "initcall_blacklist=sysfb_init" },
	{ "a BAR without an address", no_address, "bars", "bars", "fail",
	  GPU ": BAR 1 has no address", "Above 4G",
	  "" GPU ": BAR 1 has no address on this host: no guest can use the board",
	  GPUPASS_ERROR_UNSUPPORTED_BOARD },
	/* fault 18 */
	{ "virtual functions", virtual_functions, "virtual-functions", "virtual-functions", "warn",
	  GPU, "sriov_numvfs", "" GPU " has virtual functions enabled", GPUPASS_ERROR_HOST_IN_USE },
	{ "virtual functions of a side function", audio_virtual_functions, "virtual-functions",
	  "virtual-functions", "warn", AUDIO, "sriov_numvfs",
	  AUDIO " has virtual functions enabled", GPUPASS_ERROR_HOST_IN_USE },
	/* fault 18 */
	{ "a VF with a vGPU type", vgpu_type, "virtual-functions", "virtual-functions", "warn",
	  "0000:41:00.5 has type 558",
	  "echo 0 > /sys/bus/pci/devices/0000:41:00.5/nvidia/current_vgpu_type; then: "
	  "/usr/lib/nvidia/sriov-manage -d " GPU,
	  GPU " has a vGPU that no domain names", GPUPASS_ERROR_HOST_IN_USE,
	  "2 of its virtual functions have a vGPU type set" },
	{ "a function that reads all ones", no_answer_in_time, "answers", "answers", "fail", AUDIO,
	  "power-cycle", AUDIO " does not answer", GPUPASS_ERROR_BIND_FAILED },
	/* fault 24 */
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
	/* field: host/15 */
	{ "a reset that did not work", no_method_last_time, "reset", "reset", "warn",
	  "not reset when that was due last: " GPU ": no method", "TURNOVER" },
	{ "no reset of its own", no_reset_of_its_own, "reset", "reset", "fail", "0000:41:05.0",
	  "a port of its own" },
};

/* Its console has gone already. */
TEST(a_boot_display_on_a_variant_of_vfio_is_no_obstacle)
{
	_cleanup_(rig_done) Rig rig;

	rig_init(&rig);
	boot_vga_on_a_variant(&rig);
	rig_report(&rig);
	assert_string_equal(status_of(&rig, "boot-vga"), "pass");
	rig.m.host.groups = group_set_free(rig.m.host.groups);
	assert_int_equal(model_plan(&rig.m), 0);
}

/* promises O3, U11 */
TEST(each_fault_of_the_boards_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), checks_of_device, false);
}

/* ---- facts that are missing ---- */

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

static const Lack lacks[] = {
	{ "framebuffer", no_inspection, "inspected" },
	{ "bars", no_inspection, "inspected" },
	{ "answers", asleep, GPU " sleeps or could not be read" },
	{ "power", no_power_state, GPU ": the kernel does not report" },
	{ "link-width", asleep, GPU ": no link was read" },
	{ "link-speed", gpu_not_read, GPU ": no link was read" },
	{ "link-speed", slow_in_a_guest, "only its guest can tell" },
	{ "link-speed", slow_and_not_inspected, "is not known" },
	{ "aer", no_aer, "counts no errors" },
	{ "aer", asleep, "counts no errors" },
	{ "reset", slot_not_tried, GPU ": with its whole slot, if it can be" },
};

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	run_lacks(lacks, ELEMENTS(lacks), checks_of_device, "boot-vga virtual-functions");
}
