/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the boards, their drivers and holders. */
#include "rig/test.h"

#include "doctor-rig.h"

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
	model_drive(&r->m, AUDIO, "pci-stub", NULL);
}

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

static const Case cases[] = {
	{ "a holder", holder, "holders", "holders", "warn", "python3 (pid 4242", "stop it" },
	{ "a process that could not be looked at", process_unseen, "holders", "holders", "warn",
	  "whether mole (pid 4711, uid 1000)", "look at that process" },
	{ "a guest that libvirt does not know", foreign_guest, "holders", "holders", "warn",
	  "/dev/vfio/33", "stop it" },
	{ "somebody else's override", foreign_override, "driver", "driver", "warn",
	  "somebody-elses", "driverctl" },
	{ "an unexpected driver", odd_driver, "driver", "driver", "warn", "pci-stub", "unbind" },
	{ "boot display", boot_vga, "boot-vga", "boot-vga", "warn", GPU, "--allow-boot-vga" },
	{ "a framebuffer", framebuffer, "framebuffer", "framebuffer", "warn", "holds BAR 1",
	  "initcall_blacklist=sysfb_init" },
	{ "a BAR without an address", no_address, "bars", "bars", "fail",
	  GPU ": BAR 1 has no address", "Above 4G" },
	{ "virtual functions", virtual_functions, "virtual-functions", "virtual-functions", "warn",
	  GPU, "sriov_numvfs" },
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
	  "its own port" },
};

TEST(each_fault_of_the_boards_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), doctor_device_room, false);
}
