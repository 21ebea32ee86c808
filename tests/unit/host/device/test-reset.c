/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "host/device/reset.h"
#include "host/wire/answer.h"
#include "rig/little-memory.h"
#include "rig/sysfs-kernel.h"
#include "rig/sysfs-tree.h"
#include "util/text.h"

#define GPU "0000:41:00.0"
#define AUDIO "0000:41:00.1"
#define CONFIG_BYTES 256
#define PCIE_CAP 0x40

/* A function, and what a reset makes of its config space. */
typedef struct Bench {
	SysfsTree *tree;
	SysfsKernel kernel;
	ResetReport report;
	unsigned silent_looks; /* after a reset it answers all ones for so many pauses */
	unsigned lanes_after;  /* 0: as before */
	bool dies;
	int error; /* of the write */
} Bench;

static void set_config(Bench *b, bool silent, unsigned lanes)
{
	uint8_t config[CONFIG_BYTES] = { 0xde, 0x10, 0x30, 0x22 };

	config[0x06] = 0x10; /* has capabilities */
	config[0x34] = PCIE_CAP;
	config[PCIE_CAP] = 0x10;
	config[PCIE_CAP + 2] = 0x02;
	config[PCIE_CAP + 0x12] = (uint8_t)(4 | lanes << 4);
	config[PCIE_CAP + 0x13] = (uint8_t)(lanes >> 4);
	if (silent)
		memset(config, 0xff, sizeof(config));
	tree_write_bytes(b->tree, "sys/bus/pci/devices/" GPU "/config", config, sizeof(config));
}

static int in_reset(void *userdata)
{
	Bench *b = userdata;

	if (b->dies || b->silent_looks > 0)
		set_config(b, true, 0);
	else if (b->lanes_after > 0)
		set_config(b, false, b->lanes_after);
	return b->error;
}

static void in_pause(void *userdata)
{
	Bench *b = userdata;

	if (b->silent_looks > 0 && --b->silent_looks == 0)
		set_config(b, false, 16);
}

static void setup(Bench *b, const char *driver, const char *methods)
{
	*b = (Bench){ .tree = sysfs_tree_new(NULL) };
	b->kernel.while_resetting = in_reset;
	b->kernel.while_waiting = in_pause;
	b->kernel.userdata = b;
	tree_add_driver(b->tree, "vfio-pci");
	tree_add_driver(b->tree, "nvgrace_gpu_vfio_pci");
	tree_add_driver(b->tree, "nvidia");
	tree_add_driver(b->tree, "nvidia-vgpu-vfio");
	tree_add_gpu(b->tree, GPU, 0x2230, driver, 33, "0000:40:01.1");
	tree_write_attribute(b->tree, GPU, "reset", "");
	if (methods)
		tree_write_attribute(b->tree, GPU, "reset_method", methods);
	else
		tree_remove_attribute(b->tree, GPU, "reset_method");
	set_config(b, false, 16);
}

static void teardown(Bench *b)
{
	reset_report_clear(&b->report);
	sysfs_kernel_clear(&b->kernel);
	sysfs_tree_free(b->tree);
}

static void reset(Bench *b)
{
	DriverOps ops = sysfs_kernel_ops(&b->kernel);
	Bdf bdf = tree_bdf(GPU);

	function_reset_with(&ops, b->tree->roots.sysfs_fd, &bdf, &b->report);
	assert_true(bdf_equal(&b->report.bdf, &bdf));
}

static void expect_writes(const Bench *b, ResetResult result, int error, const char *method,
			  const char *expected)
{
	_cleanup_free_ char *writes = strv_join(b->kernel.writes, "; ");

	if (b->report.result != result || b->report.error != error ||
	    !str_equal(b->report.method, method))
		fail_msg("%s, %s, by %s", reset_result_to_string(b->report.result),
			 strerror(-b->report.error), str_or_empty(b->report.method));
	assert_string_equal(str_or_empty(writes), expected);
}

static void expect(const Bench *b, ResetResult result, int error, const char *method, bool written)
{
	expect_writes(b, result, error, method, written ? "reset 1" : "");
}

TEST(a_reset_is_written_and_names_the_first_method)
{
	Bench b;

	setup(&b, "vfio-pci", "flr bus\n");
	reset(&b);
	expect(&b, RESET_DONE, 0, "flr", true);
	assert_string_equal(b.report.before.link_speed, "16 GT/s");
	assert_int_equal(b.report.before.link_width, 16);
	assert_string_equal(b.report.after.link_speed, "16 GT/s");
	assert_int_equal(b.report.after.link_width, 16);
	assert_string_equal(b.report.after.power_state, "D0");
	teardown(&b);
}

static bool reset_with_little_memory(void *userdata)
{
	Bench *b = userdata;

	if (little_memory(MOVE_MEMORY_BYTES / 2) == 0)
		return false;
	reset(b);
	return b->report.result == RESET_DONE && worker_reset_document(&b->report);
}

TEST(a_reset_does_with_the_memory_that_was_reserved_for_it)
{
	Bench b;

	if (!GLIBCS_HEAP)
		skip();
	setup(&b, "vfio-pci", "bus\n");
	b.silent_looks = 2;
	assert_true(little_child(reset_with_little_memory, &b));
	teardown(&b);
}

TEST(a_function_without_a_reset_is_no_failure_if_it_answers)
{
	for (int silent = 0; silent <= 1; silent++) {
		Bench b;

		setup(&b, "vfio-pci", NULL);
		tree_remove_attribute(b.tree, GPU, "reset");
		set_config(&b, silent, 16);
		reset(&b);
		expect(&b, silent ? RESET_SILENT : RESET_NO_METHOD, 0, NULL, false);
		teardown(&b);
	}
}

TEST(methods_that_are_switched_off_are_none)
{
	Bench b;

	setup(&b, "vfio-pci", "\n");
	reset(&b);
	expect(&b, RESET_NO_METHOD, 0, NULL, false);
	teardown(&b);
}

/* promise G7 */
TEST(power_management_is_no_reset_and_is_not_tried)
{
	static const char *const methods[] = { "pm\n", "pm bus\n" };

	for (size_t i = 0; i < ELEMENTS(methods); i++) {
		Bench b;

		setup(&b, "vfio-pci", methods[i]);
		reset(&b);
		expect(&b, RESET_NO_METHOD, 0, NULL, false);
		teardown(&b);
	}
}

TEST(an_old_kernel_that_names_no_method_resets_all_the_same)
{
	Bench b;

	setup(&b, "vfio-pci", NULL);
	reset(&b);
	expect(&b, RESET_DONE, 0, "kernel default", true);
	teardown(&b);
}

TEST(the_kernels_error_is_told)
{
	static const struct {
		const char *methods;
		int error;
		ResetResult result;
		int told;
		const char *method;
	} rows[] = {
		{ "flr\n", -EIO, RESET_FAILED, -EIO, "flr" },
		{ "flr bus\n", -ENOTTY, RESET_FAILED, -ENOTTY, "flr" },
		{ "bus\n", -EAGAIN, RESET_FAILED, -EAGAIN, "bus" },
		/* Stale: probed before there was a .1. */
		{ "bus\n", -ENOTTY, RESET_NO_METHOD, 0, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Bench b;

		setup(&b, "vfio-pci", rows[i].methods);
		b.error = rows[i].error;
		reset(&b);
		expect(&b, rows[i].result, rows[i].told, rows[i].method, true);
		teardown(&b);
	}
}

/* fault 24 */
TEST(silence_afterwards_counts_whatever_the_write_said)
{
	static const int errors[] = { 0, -ENOTTY };

	for (size_t i = 0; i < ELEMENTS(errors); i++) {
		Bench b;

		setup(&b, "vfio-pci", "bus\n");
		b.dies = true;
		b.error = errors[i];
		reset(&b);
		expect(&b, RESET_SILENT, 0, NULL, true);
		assert_true(b.kernel.waited >= 1000);
		teardown(&b);
	}
}

TEST(a_device_that_takes_its_time_is_waited_for)
{
	Bench b;

	setup(&b, "vfio-pci", "flr\n");
	b.silent_looks = 3;
	reset(&b);
	expect(&b, RESET_DONE, 0, "flr", true);
	assert_int_equal(b.kernel.waited, 350);
	teardown(&b);
}

/* fault 24 */
TEST(a_silent_device_is_not_reset_at_all)
{
	Bench b;

	setup(&b, "vfio-pci", "flr\n");
	set_config(&b, true, 0);
	reset(&b);
	expect(&b, RESET_SILENT, 0, NULL, false);
	teardown(&b);
}

TEST(a_narrower_link_is_noticed)
{
	Bench b;

	setup(&b, "vfio-pci", "flr\n");
	b.lanes_after = 8;
	reset(&b);
	expect(&b, RESET_LINK_WORSE, 0, "flr", true);
	teardown(&b);
}

TEST(what_the_host_uses_is_not_reset)
{
	static const char *const drivers[] = { "nvidia", "nvidia-vgpu-vfio" };

	for (size_t i = 0; i < ELEMENTS(drivers); i++) {
		Bench b;

		setup(&b, drivers[i], "flr\n");
		reset(&b);
		expect(&b, RESET_REFUSED, -EBUSY, NULL, false);
		teardown(&b);
	}
}

TEST(what_is_on_a_variant_of_vfio_pci_is_reset)
{
	Bench b;

	setup(&b, "nvgrace_gpu_vfio_pci", "flr\n");
	reset(&b);
	expect(&b, RESET_DONE, 0, "flr", true);
	teardown(&b);
	/* of another name: what it made of the device tells */
	setup(&b, "nvidia-vgpu-vfio", "flr\n");
	tree_write_attribute(b.tree, GPU, "vfio-dev/vfio3/dev", "511:3\n");
	reset(&b);
	expect(&b, RESET_DONE, 0, "flr", true);
	teardown(&b);
}

TEST(a_bus_reset_that_would_hit_another_board_is_refused)
{
	Bench b;

	setup(&b, "vfio-pci", "bus\n");
	tree_add_gpu(b.tree, "0000:41:01.0", 0x2230, "vfio-pci", 33, "0000:40:01.1");
	reset(&b);
	expect(&b, RESET_REFUSED, -EXDEV, NULL, false);
	teardown(&b);
}

TEST(a_function_that_is_gone_is_a_failure)
{
	Bench b;

	setup(&b, "vfio-pci", "flr\n");
	tree_remove_function(b.tree, GPU);
	reset(&b);
	expect(&b, RESET_FAILED, -ENOENT, NULL, false);
	teardown(&b);
}

TEST(a_link_is_worse_when_slower_or_narrower)
{
	static const struct {
		const char *speed, *speed_after;
		unsigned width, width_after;
		bool worse;
	} rows[] = {
		{ "16 GT/s", "16 GT/s", 16, 16, false }, { "16 GT/s", "8 GT/s", 16, 16, true },
		{ "5 GT/s", "2.5 GT/s", 16, 16, true },	 { "2.5 GT/s", "16 GT/s", 16, 16, false },
		{ "16 GT/s", "16 GT/s", 16, 4, true },	 { NULL, "2.5 GT/s", 0, 1, false },
		{ "16 GT/s", NULL, 16, 0, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const ResetLook before = { (char *)rows[i].speed, rows[i].width, NULL };
		const ResetLook after = { (char *)rows[i].speed_after, rows[i].width_after, NULL };

		if (reset_link_is_worse(&before, &after) != rows[i].worse)
			fail_msg("row %zu", i);
	}
}

/* A GPU and its audio, as boards are that the kernel does not reset by itself. */
static void setup_slot(Bench *b, const char *driver_of_audio)
{
	static const uint8_t config[64] = { 0xde, 0x10, 0xef, 0x1a };
	_cleanup_free_ char *target = strf("../../../../bus/pci/drivers/%s", driver_of_audio);

	setup(b, "vfio-pci", "bus\n");
	tree_remove_attribute(b->tree, AUDIO, "driver");
	tree_link(b->tree, "sys/bus/pci/devices/" AUDIO "/driver", target);
	tree_write_bytes(b->tree, "sys/bus/pci/devices/" AUDIO "/config", config, sizeof(config));
}

static void reset_slot(Bench *b)
{
	DriverOps ops = sysfs_kernel_ops(&b->kernel);
	Bdf bdf = tree_bdf(GPU);

	slot_reset_with(&ops, b->tree->roots.sysfs_fd, &bdf, &b->report);
}

TEST(a_slot_is_reset_through_vfio_with_all_its_functions)
{
	Bench b;

	setup_slot(&b, "vfio-pci");
	reset_slot(&b);
	expect_writes(&b, RESET_DONE, 0, "slot", "hot reset " GPU "," AUDIO);
	assert_int_equal(b.report.after.link_width, 16);
	teardown(&b);
}

TEST(a_slot_reset_that_fails_is_told)
{
	static const struct {
		int error;
		ResetResult result;
		const char *method;
	} rows[] = {
		{ -EBUSY, RESET_FAILED, "slot" },   { -EXDEV, RESET_FAILED, "slot" },
		{ -EPERM, RESET_FAILED, "slot" },   { -EIO, RESET_FAILED, "slot" },
		{ -ENOENT, RESET_NO_METHOD, NULL }, { -EOPNOTSUPP, RESET_NO_METHOD, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Bench b;

		setup_slot(&b, "vfio-pci");
		b.error = rows[i].error;
		reset_slot(&b);
		expect_writes(&b, rows[i].result,
			      rows[i].result == RESET_FAILED ? rows[i].error : 0, rows[i].method,
			      "hot reset " GPU "," AUDIO);
		teardown(&b);
	}
}

TEST(a_slot_with_a_function_on_a_host_driver_is_not_reset)
{
	Bench b;

	setup_slot(&b, "nvidia");
	reset_slot(&b);
	expect_writes(&b, RESET_REFUSED, -EBUSY, NULL, "");
	teardown(&b);
}

TEST(a_slot_is_not_reset_with_another_board_on_its_bus)
{
	Bench b;

	setup_slot(&b, "vfio-pci");
	tree_add_gpu(b.tree, "0000:41:01.0", 0x2230, "vfio-pci", 34, NULL);
	reset_slot(&b);
	expect_writes(&b, RESET_REFUSED, -EXDEV, NULL, "");
	teardown(&b);
}

TEST(a_slot_whose_other_function_is_silent_after_its_reset_is_not_good)
{
	static const uint8_t ones[64] = { [0 ... 63] = 0xff };
	Bench b;

	setup_slot(&b, "vfio-pci");
	tree_write_bytes(b.tree, "sys/bus/pci/devices/" AUDIO "/config", ones, sizeof(ones));
	reset_slot(&b);
	expect_writes(&b, RESET_SILENT, 0, NULL, "hot reset " GPU "," AUDIO);
	teardown(&b);
}
