/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/facts/examination.h"
#include "core/setup/hook-script.h"
#include "core/setup/setup-files.h"
#include "rig/rows.h"

/* The lines joined by '|'. */
static void expect(char **lines, const char *expected)
{
	_cleanup_free_ char *joined = strv_join(lines, "|");

	assert_string_equal(joined, expected);
	strv_free(lines);
}

TEST(the_command_line_keeps_what_matters)
{
	expect(setup_read_cmdline("BOOT_IMAGE=/vmlinuz ro intel_iommu=on quiet "
				  "vfio-pci.ids=10de:2204\n"),
	       "intel_iommu=on|vfio-pci.ids=10de:2204");
	expect(setup_read_cmdline(""), "");
}

/* field: host/08, and more of its kind. What a line names; NULL: nothing. */
TEST(a_hook_is_told_by_the_words_that_move_boards)
{
	static const struct {
		const char *line, *names;
	} rows[] = {
		{ "virsh nodedev-detach pci_0000_41_00_0",
		  "virsh nodedev-detach pci_0000_41_00_0" },
		{ "  /usr/bin/virsh -c qemu:///system nodedev-reattach $DEV",
		  "virsh nodedev-reattach" },
		{ "sudo virsh nodedev-detach pci_$(echo $GPU_PCI | tr ':.' '_')",
		  "virsh nodedev-detach" },
		{ "if [ $1 = vm ]; then virsh start other; fi", "virsh" },
		{ "subprocess.run(['virsh', 'nodedev-reset', 'pci_0000_41_00_0'])",
		  "virsh nodedev-reset pci_0000_41_00_0" },
		{ "c = libvirt.open('qemu:///system')", "libvirt.open" },
		{ "echo vfio-pci > /sys/bus/pci/devices/$GPU/driver_override", "driver_override" },
		{ "echo \"$GPU\" >\"$path/driver/unbind\"", "unbind" },
		{ "echo 0000:41:00.0 > /sys/bus/pci/drivers/vfio-pci/bind", "bind" },
		{ "echo 10de 2204 > /sys/bus/pci/drivers/vfio-pci/new_id", "new_id" },
		{ "echo $GPU > /sys/bus/pci/drivers_probe", "drivers_probe" },
		{ "echo 1 > /sys/bus/pci/devices/0000:41:00.0/remove", "remove" },
		{ "echo 1 > /sys/bus/pci/devices/$GPU/remove", "remove" },
		{ "echo $GPU > /sys/bus/pci/drivers/${HOST_DRIVER}/bind", "bind" },
		{ "echo 1 > /sys/bus/pci/rescan", "rescan" },
		{ "/sbin/modprobe vfio_pci", "modprobe vfio_pci" },
		{ "modprobe --remove nvidia-drm", "modprobe -r nvidia-drm" },
		{ "rmmod -f nvidia_uvm; sleep 1", "rmmod nvidia_uvm" },
		{ "insmod /lib/modules/x/nvidia.ko", "insmod /lib/modules/x/nvidia.ko" },
		{ "driverctl set-override 0000:41:00.0 vfio-pci", "driverctl" },
		{ "# virsh nodedev-detach pci_0000_41_00_0", NULL },
		{ "logger start # then virsh", NULL },
		{ "echo 0 > /sys/class/vtconsole/vtcon0/bind", NULL },
		{ "echo efi-framebuffer.0 > /sys/bus/platform/drivers/efi-framebuffer/unbind",
		  NULL },
		{ "modprobe br_netfilter; mount --bind /a /b; cpupower frequency-set", NULL },
		{ "systemctl stop display-manager.service", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf("#!/bin/sh\n%s\n%s\n", rows[i].line, rows[i].line);
		_cleanup_free_ char *expected =
			rows[i].names ? strf("/h names %s at line 2", rows[i].names) : strdup("");
		char **lines = NULL;

		hook_script_read("/h", text, &lines, NULL);
		expect(lines, expected);
	}
}

TEST(no_list_grows_without_a_limit)
{
	_cleanup_free_ char *text = repeated("vfio.a ", 1000);
	_cleanup_strv_ char **lines = setup_read_cmdline(text);

	assert_int_equal(strv_length(lines), SETUP_LINES_MAX);
}

TEST(driverctl_overrides_are_read_from_their_names)
{
	char **lines = NULL;

	setup_read_driverctl("pci-0000:41:00.0", "vfio-pci\n", &lines);
	setup_read_driverctl("pci-0000:41:00.1", "\n", &lines);
	setup_read_driverctl("pci-x", "vfio-pci\n", &lines);
	setup_read_driverctl("README", "vfio-pci\n", &lines);
	expect(lines, "0000:41:00.0 vfio-pci");
}

TEST(versions_of_the_driver)
{
	static const TextRow rows[] = {
		{ "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\nGCC 12.2",
		  "535.129.03" },
		{ "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.58.03  Release "
		  "Build\n",
		  "595.58.03" },
		{ "", NULL },
		{ "no number\n535.1", NULL },
		{ "1.2.3x 4\n", NULL },
	};

	EXPECT_TEXTS(rows, setup_read_nvidia_version);
}

TEST(versions_are_compared_by_numbers)
{
	assert_true(setup_compare_versions("595.9", "595.45") < 0);
	assert_true(setup_compare_versions("595.45.04", "595.45") > 0);
	assert_true(setup_compare_versions("610.57.04", "610.57.04") == 0);
	assert_true(setup_compare_versions("590.48.01", "595.45") < 0);
	assert_true(setup_compare_versions("595.x", "595.45") != 0);
	assert_true(setup_compare_versions("", "1") < 0);
}

TEST(remapped_interrupts_are_told_by_their_chip)
{
	expect_each("  9:  0  0  IR-IO-APIC   9-fasteoi  acpi|"
		    " 24:  0  IR-PCI-MSI-0000:00:1f.2  0-edge  ahci|"
		    " 24:  0  IR-PCI-MSIX-0000:01:00.0 0-edge x",
		    setup_interrupt_is_remapped, true);
	expect_each("  9:  0  0  IO-APIC   9-fasteoi  acpi| 30:  0  PCI-MSI 1-edge  AIR-IO-APIC|"
		    " 30:  0  PCI-MSI 1-edge  IR-thing",
		    setup_interrupt_is_remapped, false);
	assert_false(setup_interrupt_is_remapped(""));
}

TEST(aer_counters_are_their_total)
{
	uint64_t n = 7;

	assert_true(setup_read_aer("RxErr 3\nBadTLP 4\nTOTAL_ERR_COR 12\n", &n));
	assert_int_equal(n, 12);
	assert_true(setup_read_aer("TOTAL_ERR_FATAL 0", &n));
	assert_int_equal(n, 0);
	n = 7;
	assert_false(setup_read_aer("RxErr 3\n", &n));
	assert_false(setup_read_aer("TOTAL_ERR_COR -1\n", &n));
	assert_false(setup_read_aer("TOTAL_ERR_COR\n", &n));
	assert_false(setup_read_aer("x TOTAL_ERR_COR 1\n", &n));
	assert_false(setup_read_aer("TOTAL_ERR_COR 99999999999999999999999\n", &n));
	assert_int_equal(n, 7);
}

TEST(limits_and_capabilities_of_a_process)
{
	static const char limits[] =
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max locked memory         4096                 8388608              bytes     \n";
	uint64_t n = 0;

	assert_true(setup_read_memlock(limits, &n));
	assert_int_equal(n, 8388608);
	assert_true(setup_read_memlock("Max locked memory  unlimited  unlimited  bytes\n", &n));
	assert_true(n == UINT64_MAX);
	assert_false(setup_read_memlock("Max locked memory\n", &n));
	assert_false(setup_read_memlock("", &n));
	assert_true(setup_may_raise_limits("Name:\tx\nCapEff:\t000001ffffffffff\n"));
	assert_false(setup_may_raise_limits("Name:\tx\nCapEff:\t0000000000000000\n"));
	assert_false(setup_may_raise_limits("CapPrm:\t000001ffffffffff\n"));
	assert_false(setup_may_raise_limits("CapEff:\n"));
}

TEST(the_start_of_a_process_is_read_past_its_name)
{
	static const char begin[] = "812 (a) b) 1) S 1 812 812 0 -1 4194560 5 6 7 8 9 10 11 12 20 "
				    "0 3 0 ";
	static const char *const odd[] = { "", "4711", "x 1 ", "-1 1 ",
					   "99999999999999999999999 1 " };
	_cleanup_free_ char *good = strf("%s4711 1 2\n", begin);
	uint64_t n = 0;

	assert_true(setup_read_start(good, &n));
	assert_int_equal(n, 4711);
	for (size_t i = 0; i < ELEMENTS(odd); i++) {
		_cleanup_free_ char *text = strf("%s%s", begin, odd[i]);

		assert_false(setup_read_start(text, &n));
	}
}
