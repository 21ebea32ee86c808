/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the boards, their drivers and holders. */
#include "rig/test.h"

#include "checks-rig.h"

static void boot_vga(Rig *r)
{
	model_function(&r->m, GPU)->boot_vga = true;
}

static void vgpu_type(Rig *r)
{
	FunctionFacts *facts = model_facts(&r->m, GPU);

	facts->num_vfs = 4;
	facts->vgpus = 2;
	facts->vgpu_type = 558;
	facts->vgpu_vf = bdf_of("0000:41:00.5");
}

static void on_a_variant(Rig *r)
{
	model_drive(&r->m, GPU, "nvgrace_gpu", NULL);
	model_facts(&r->m, GPU)->vfio_dev = model_function(&r->m, GPU)->vfio_dev = true;
}

/* The BARs of a board: of the memory by 32 bits, as BAR 1, or by 64, as BAR 2. */
static void bars(Rig *r, uint64_t one, uint64_t two)
{
	PciFunction *function = model_function(&r->m, GPU);

	function->bar_size[0] = 16 << 20;
	function->bar_size[1] = one;
	function->bar_size[2] = two;
}

/* promises O3, U11 */
TEST(each_fault_of_the_boards_is_found_by_its_check_and_by_no_other)
{
	_cleanup_strv_ char **cases = NULL;

	REFUSED("boot display", "boot-vga", "warn", GPU, "--allow-boot-vga",
		GPU " is the host's boot display", GPUPASS_ERROR_HOST_IN_USE, NULL, boot_vga(r));
	/* field: host/03 */
	TOLD("a framebuffer", "framebuffer", "warn",
	     GPU ": the firmware framebuffer (BOOTFB) holds BAR 1: a guest's start gives "
		 "\"BAR 1: can't reserve\", and the guest cannot use the board",
	     "boot with initcall_blacklist=sysfb_init, or", boot_vga(r), model_bind_pair0(&r->m),
	     held_bar(r, GPU, 1, "BOOTFB"));
	/* field: host/09 */
	REFUSED("a BAR without an address", "bars", "fail", GPU ": BAR 1 has no address",
		"Above 4G", GPU ": BAR 1 has no address on this host: no guest can use the board",
		GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL,
		model_facts(&r->m, GPU)->bars_unset = 1 << 1);
	/* field: host/09 */
	REFUSED("two BARs without one", "bars", "fail", "BARs 1, 3 have no address", "Above 4G",
		"BARs 1, 3 have", GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL,
		model_facts(&r->m, GPU)->bars_unset = 1 << 1 | 1 << 3);
	/* field: host/09, as Linux before 6.15 shows it */
	REFUSED("a BAR that was cleared", "bars", "fail", "the BAR of the memory (BAR 1, or 2",
		"Above 4G", GPU ": the BAR of the memory", GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL,
		bars(r, 0, 0));
	REFUSED("an H100's memory", "bars", "fail", GPU ": the BAR of the memory", "Above 4G",
		GPU ": the BAR of the memory", GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL, bars(r, 0, 0),
		model_function(&r->m, GPU)->bar_size[4] = 32 << 20);
	TOLD("audio without an address", "bars", "warn",
	     AUDIO ": BAR 0 has no address on this host: no guest can use the function", "Above 4G",
	     model_facts(&r->m, AUDIO)->bars_unset = 1);
	TOLD("simpledrm", "framebuffer", "warn", "(BOOTFB, simpledrm) holds BAR 1",
	     "if it is still there", held_bar(r, GPU, 1, "BOOTFB, simpledrm"));
	TOLD("a framebuffer on nvidia", "framebuffer", "warn", "where vfio-pci does not end it",
	     "initcall_blacklist=sysfb_init", held_bar(r, GPU, 1, "BOOTFB"));
	TOLD("efifb in a BAR that is not known", "framebuffer", "warn",
	     "(efifb) holds a BAR: a guest's start gives \"can't reserve\"",
	     "initcall_blacklist=sysfb_init video=efifb:off, or", model_bind_pair0(&r->m),
	     held_bar(r, GPU, -1, "efifb"));
	TOLD("two BARs held", "framebuffer", "warn", "(BOOTFB) holds BAR 3", "video=vesafb:off",
	     held_bar(r, GPU, 1, "vesafb"), held_bar(r, GPU, 3, "BOOTFB"));
	/* fault 18 */
	REFUSED("virtual functions", "virtual-functions", "warn", GPU, "sriov_numvfs",
		GPU " has virtual functions enabled", GPUPASS_ERROR_HOST_IN_USE, NULL,
		model_facts(&r->m, GPU)->num_vfs = 2);
	REFUSED("virtual functions of a side function", "virtual-functions", "warn", AUDIO,
		"sriov_numvfs", AUDIO " has virtual functions enabled", GPUPASS_ERROR_HOST_IN_USE,
		NULL, model_facts(&r->m, AUDIO)->num_vfs = 2);
	/* fault 18 */
	REFUSED("a VF with a vGPU type", "virtual-functions", "warn", "0000:41:00.5 has type 558",
		"echo 0 > /sys/bus/pci/devices/0000:41:00.5/nvidia/current_vgpu_type; then: "
		"/usr/lib/nvidia/sriov-manage -d " GPU,
		GPU " has a vGPU that no domain names", GPUPASS_ERROR_HOST_IN_USE,
		"2 of its virtual functions have a vGPU type set", vgpu_type(r));
	REFUSED("a function that reads all ones", "answers", "fail", AUDIO, "power-cycle",
		AUDIO " does not answer", GPUPASS_ERROR_BIND_FAILED, NULL,
		model_facts(&r->m, AUDIO)->config_all_ones = true);
	/* fault 24 */
	TOLD("all ones", "answers", "fail", "all ones", "power-cycle",
	     r->health[0].config = (PcieConfig){ .read = true, .all_ones = true });
	TOLD("a GPU that hangs the reader", "answers", "fail", "does not end", "reboot",
	     not_read(r, -ETIMEDOUT));
	TOLD("D3cold", "power", "warn", "D3cold", "d3cold_allowed",
	     model_set(&model_function(&r->m, GPU)->power_state, "D3cold"));
	TOLD("a power state that could not be set", "power", "fail", GPU, "dmesg",
	     model_set(&model_function(&r->m, GPU)->power_state, "error"));
	TOLD("few lanes", "link-width", "fail", "x8 of x16", "reseat",
	     r->health[0].config.width = 8);
	TOLD("a narrow slot", "link-width", "warn", "x8", "wider slot",
	     r->health[0].config.width = 8, r->health[0].ports[0].config.width_max = 8);
	TOLD("slow while in use", "holders link-speed", "warn", "2.5 GT/s of 16 GT/s", "under load",
	     r->health[2].config.speed = 1,
	     model_holder(&r->m, "0000:a1:00.0", "/dev/nvidia2", false));
	TOLD("fatal errors", "aer", "fail", "1 fatal", "reseat", r->health[0].fatal = 1);
	TOLD("non-fatal errors", "aer", "warn", "2 non-fatal", "reseat", r->health[0].nonfatal = 2);
	TOLD("many corrected errors", "aer", "warn", "1000 corrected", "reseat",
	     r->health[0].correctable = 1000);
	/* field: host/15 */
	TOLD("a reset that did not work", "reset", "warn",
	     "not reset when that was due last: " GPU ": no method", "TURNOVER",
	     model_set(&model_function(&r->m, GPU)->reset_methods, "bus"),
	     r->resets[0] = (LastReset){ bdf_of(GPU), true, false, (char *)GPU ": no method" });
	TOLD("no reset of its own", "reset", "fail", "0000:41:05.0", "a port of its own",
	     model_set(&model_function(&r->m, GPU)->reset_methods, "bus"),
	     model_function(&r->m, NIC)->bdf = bdf_of("0000:41:05.0"), reseal(r));
	all_had_cases(cases, checks_of_device, "");
}

TEST(what_keeps_no_guest_from_a_board_is_no_fault)
{
	SPEAKS("a GPU", "", bars(r, 256 << 20, 0));
	SPEAKS("an H100", "", bars(r, 0, UINT64_C(128) << 30));
	/* What the lab's emulated boards are: NVMe functions, and NVIDIA only by their ids. */
	SPEAKS("the lab's boards", "", model_function(&r->m, GPU)->bar_size[0] = 16 << 10);
	SPEAKS("a board of another maker", "", bars(r, 0, 0),
	       model_function(&r->m, GPU)->vendor = 0x1a03);
	SPEAKS("a virtual function", "", bars(r, 0, 0),
	       model_function(&r->m, GPU)->virtual_function = true);
	/* Its console has gone already. */
	ON_RIG((expect_status(r, "boot-vga", "pass", ""),
		check_refusal(&(Case){ .name = "a variant" }, "boot-vga", r)),
	       boot_vga(r), on_a_variant(r));
}

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("framebuffer", "inspected", no_inspection(r));
	LACKS("bars", "inspected", no_inspection(r));
	LACKS("answers", GPU " sleeps or could not be read", not_read(r, 0));
	LACKS("power", GPU ": the kernel does not report",
	      model_set(&model_function(&r->m, GPU)->power_state, NULL));
	LACKS("link-width", GPU ": no link was read", not_read(r, 0));
	LACKS("link-speed", GPU ": no link was read", not_read(r, -EPROTO));
	LACKS("link-speed", "only its guest can tell", r->health[0].config.speed = 1,
	      model_holder(&r->m, GPU, "/dev/vfio/33", true));
	LACKS("link-speed", "is not known", r->health[0].config.speed = 1, no_inspection(r));
	LACKS("aer", "counts no errors", r->health[0].aer = false);
	LACKS("aer", "counts no errors", not_read(r, 0));
	LACKS("reset", GPU ": with its whole slot, if it can be",
	      model_set(&model_function(&r->m, GPU)->reset_methods, "bus"));
	all_had_cases(cases, checks_of_device, "boot-vga virtual-functions");
}
