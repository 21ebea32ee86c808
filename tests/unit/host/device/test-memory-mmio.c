/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boards on vfio-pci, whose BAR 0 is a sparse file with the registers in it. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/device/memory-mmio.h"
#include "rig/bar0.h"
#include "rig/worker-model.h"
#include "util/text.h"

#define A "0000:41:00.0"
#define GA102 0xb72000a1U
#define GH100 0x180000a1U

static SysfsTree *board(uint16_t device, uint32_t boot_0)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	tree_add_driver(tree, "vfio-pci");
	tree_add_driver(tree, "nvidia");
	add_board_on_vfio(tree, A, device, boot_0);
	return tree;
}

static void expect(const SysfsTree *tree, const char *name, MemoryClear state, const char *why)
{
	const Bdf bdf = tree_bdf(A);
	MemoryReport report = { 0 };

	memory_mmio_poll(tree->roots.sysfs_fd, &bdf, 1, 30, &report);
	assert_true(bdf_equal(&report.bdf, &bdf));
	if (report.state != state || !str_equal(report.why, why))
		fail_msg("%s: %s: %s", name, memory_clear_to_string(report.state),
			 str_or_empty(report.why));
	memory_report_clear(&report);
}

/* promise G8 */
TEST(each_generation_has_its_register)
{
	static const struct {
		const char *name;
		uint16_t device;
		uint32_t boot_0, boot, booted, clear;
	} rows[] = {
		{ "T4", 0x1eb8, 0x164000a1, 0x118234, 0x3ff, 0x100b20 },
		{ "A100", 0x20f1, 0x170000a1, 0x118234, 0x3ff, 0x100b20 },
		{ "A6000", 0x2230, GA102, 0x118234, 0x3ff, 0x100b20 },
		{ "L40S", 0x26b9, 0x192000a1, 0x118234, 0x3ff, 0x100b20 },
		{ "H100", 0x2331, GH100, 0x200bc, 0xff, 0x100b20 },
		{ "B200", 0x2901, 0x1a0000a1, 0x200bc, 0xff, 0x8a004c },
		{ "RTX PRO 6000", 0x2bb5, 0x1b2000a1, 0xad00bc, 0xff, 0x8a004c },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = board(rows[i].device, rows[i].boot_0);

		/* Before its firmware has booted the register says nothing. */
		put(tree, A, rows[i].clear, 1);
		expect(tree, rows[i].name, MEMORY_NOT_KNOWN,
		       "its firmware did not say that it has booted");
		put(tree, A, rows[i].boot, rows[i].booted);
		expect(tree, rows[i].name, MEMORY_CLEARED, NULL);
		put(tree, A, rows[i].clear, 0);
		expect(tree, rows[i].name, MEMORY_NOT_CLEARED, NULL);
		put(tree, A, rows[i].clear, 3);
		expect(tree, rows[i].name, MEMORY_NOT_CLEARED, NULL);
		put(tree, A, rows[i].clear, 0xffffffff);
		expect(tree, rows[i].name, MEMORY_NOT_KNOWN, "its register cannot be read");
		put(tree, A, rows[i].clear, 0xbadf5040);
		expect(tree, rows[i].name, MEMORY_NOT_KNOWN, "its register cannot be read");
	}
}

TEST(another_chip_tells_nothing)
{
	static const struct {
		const char *name, *why;
		uint16_t device;
		uint32_t boot_0;
	} rows[] = {
		{ "V100", "no register of this chip is known to tell", 0x1db4, 0x140000a1 },
		{ "TU102", "no register of this chip is known to tell", 0x1e07, 0x162000a1 },
		{ "off the bus", "its registers cannot be read", 0x2230, 0xffffffff },
		{ "not for us", "its registers cannot be read", 0x2331, 0xbadf0200 },
		{ "an id of Hopper, another chip", "no register of this chip is known to tell",
		  0x2331, 0x140000a1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = board(rows[i].device, rows[i].boot_0);

		put(tree, A, 0x118234, 0x3ff);
		put(tree, A, 0x100b20, 1);
		expect(tree, rows[i].name, MEMORY_NOT_KNOWN, rows[i].why);
	}
}

static void ready(SysfsTree *tree)
{
	put(tree, A, 0x118234, 0x3ff);
	put(tree, A, 0x100b20, 1);
}

TEST(a_board_that_may_not_be_read_is_not_read)
{
	static const uint8_t no_memory[64] = { 0xde, 0x10, 0x31, 0x23, 0x04, 0x00 };
	_cleanup_(sysfs_tree_freep) SysfsTree *asleep = board(0x2230, GA102);
	_cleanup_(sysfs_tree_freep) SysfsTree *unmapped = board(0x2230, GA102);
	_cleanup_(sysfs_tree_freep) SysfsTree *on_nvidia = sysfs_tree_new(NULL);
	_cleanup_(sysfs_tree_freep) SysfsTree *small = board(0x2230, GA102);
	_cleanup_free_ char *path = resource0(small, A);

	ready(asleep);
	tree_write_attribute(asleep, A, "power_state", "D3hot\n");
	/* Reading it would wake the device: it is not there to be read. */
	tree_remove_attribute(asleep, A, "config");
	expect(asleep, "asleep", MEMORY_NOT_KNOWN, "it is asleep, and is not woken for this");
	ready(unmapped);
	tree_write_bytes(unmapped, "sys/bus/pci/devices/" A "/config", no_memory,
			 sizeof(no_memory));
	expect(unmapped, "unmapped", MEMORY_NOT_KNOWN,
	       "it does not decode memory: no driver has enabled it");
	tree_add_driver(on_nvidia, "nvidia");
	tree_add_gpu(on_nvidia, A, 0x2230, "nvidia", 33, NULL);
	expect(on_nvidia, "on nvidia", MEMORY_NOT_KNOWN, "it is not on vfio-pci");
	assert_int_equal(truncate(path, 4096), 0);
	expect(small, "small", MEMORY_NOT_KNOWN, "its BAR 0 is too small to have these registers");
}

TEST(the_worker_says_it_too_and_writes_nothing)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = board(0x2230, GA102);
	const WorkerConfig config = { .program = WORKER,
				      .sysfs_dir = tree->sysfs,
				      .proc_dir = tree->proc };
	_cleanup_free_ uint8_t *before = malloc(BAR0_BYTES), *after = malloc(BAR0_BYTES);
	_cleanup_free_ char *path = resource0(tree, A);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Bdf boards[] = { tree_bdf(A), tree_bdf("0000:61:00.0") };
	MemoryReport reports[2] = { 0 };

	ready(tree);
	assert_int_equal(pread(fd, before, BAR0_BYTES, 0), BAR0_BYTES);
	host_memory(WORKERS(&config), boards, 2, reports);
	assert_int_equal(reports[0].state, MEMORY_CLEARED);
	assert_int_equal(reports[1].state, MEMORY_NOT_KNOWN);
	assert_non_null(reports[1].why);
	assert_int_equal(pread(fd, after, BAR0_BYTES, 0), BAR0_BYTES);
	assert_memory_equal(before, after, BAR0_BYTES);
	for (size_t i = 0; i < ELEMENTS(reports); i++)
		memory_report_clear(&reports[i]);
}
