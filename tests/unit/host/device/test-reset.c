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

/* What a reset makes of the function. */
typedef struct After {
	unsigned silent_looks; /* it answers all ones for so many pauses */
	unsigned lanes;	       /* 0: as before */
	bool dies;
	int error; /* of the write */
} After;

typedef struct Bench {
	SysfsTree *tree;
	SysfsKernel kernel;
	ResetReport report;
	After after;
} Bench;

/* What is not as usual before the reset. */
typedef enum Before {
	AS_USUAL,
	WITHOUT_RESET,
	SILENT,
	SILENT_WITHOUT_RESET,
	GONE,
	WITH_VFIO_DEV,
	WITH_NEIGHBOUR, /* another board on its bus */
	WITH_SILENT_AUDIO,
} Before;

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

	if (b->after.dies || b->after.silent_looks > 0)
		set_config(b, true, 0);
	else if (b->after.lanes > 0)
		set_config(b, false, b->after.lanes);
	return b->after.error;
}

static void in_pause(void *userdata)
{
	Bench *b = userdata;

	if (b->after.silent_looks > 0 && --b->after.silent_looks == 0)
		set_config(b, false, 16);
}

static void arrange(Bench *b, Before before)
{
	static const uint8_t ones[64] = { [0 ... 63] = 0xff };

	if (before == WITHOUT_RESET || before == SILENT_WITHOUT_RESET)
		tree_remove_attribute(b->tree, GPU, "reset");
	if (before == SILENT || before == SILENT_WITHOUT_RESET)
		set_config(b, true, 0);
	if (before == GONE)
		tree_remove_function(b->tree, GPU);
	if (before == WITH_VFIO_DEV)
		tree_write_attribute(b->tree, GPU, "vfio-dev/vfio3/dev", "511:3\n");
	if (before == WITH_NEIGHBOUR)
		tree_add_gpu(b->tree, "0000:41:01.0", 0x2230, "vfio-pci", 34, "0000:40:01.1");
	if (before == WITH_SILENT_AUDIO)
		tree_write_bytes(b->tree, "sys/bus/pci/devices/" AUDIO "/config", ones,
				 sizeof(ones));
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

static void expect(const Bench *b, const char *what, ResetResult result, int error,
		   const char *method, const char *expected)
{
	_cleanup_free_ char *writes = strv_join(b->kernel.writes, "; ");

	if (b->report.result != result || b->report.error != error ||
	    !str_equal(b->report.method, method) || !str_equal(writes, expected))
		fail_msg("%s: %s, %s, by %s; %s", what, reset_result_to_string(b->report.result),
			 strerror(-b->report.error), str_or_empty(b->report.method), writes);
}

TEST(a_reset_is_written_and_names_the_first_method)
{
	_cleanup_(teardown) Bench b;

	setup(&b, "vfio-pci", "flr bus\n");
	reset(&b);
	expect(&b, "first", RESET_DONE, 0, "flr", "reset 1");
	assert_string_equal(b.report.before.link_speed, "16 GT/s");
	assert_int_equal(b.report.before.link_width, 16);
	assert_string_equal(b.report.after.link_speed, "16 GT/s");
	assert_int_equal(b.report.after.link_width, 16);
	assert_string_equal(b.report.after.power_state, "D0");
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
	_cleanup_(teardown) Bench b = { 0 };

	if (!GLIBCS_HEAP)
		skip();
	setup(&b, "vfio-pci", "bus\n");
	b.after.silent_looks = 2;
	assert_true(little_child(reset_with_little_memory, &b));
}

static const struct {
	const char *what, *driver, *methods; /* NULL: an old kernel names none */
	Before before;
	After after;
	ResetResult result;
	int told;
	const char *method;
	bool written;
	unsigned waited;
} resets[] = {
	{ "without a reset, it answers",
	  "vfio-pci",
	  NULL,
	  WITHOUT_RESET,
	  { 0 },
	  RESET_NO_METHOD,
	  0,
	  NULL,
	  false,
	  0 },
	{ "without a reset, it is silent",
	  "vfio-pci",
	  NULL,
	  SILENT_WITHOUT_RESET,
	  { 0 },
	  RESET_SILENT,
	  0,
	  NULL,
	  false,
	  0 },
	{ "methods that are switched off are none",
	  "vfio-pci",
	  "\n",
	  AS_USUAL,
	  { 0 },
	  RESET_NO_METHOD,
	  0,
	  NULL,
	  false,
	  0 },
	/* promise G7 */
	{ "power management is no reset",
	  "vfio-pci",
	  "pm\n",
	  AS_USUAL,
	  { 0 },
	  RESET_NO_METHOD,
	  0,
	  NULL,
	  false,
	  0 },
	{ "and is not tried",
	  "vfio-pci",
	  "pm bus\n",
	  AS_USUAL,
	  { 0 },
	  RESET_NO_METHOD,
	  0,
	  NULL,
	  false,
	  0 },
	{ "an old kernel resets all the same",
	  "vfio-pci",
	  NULL,
	  AS_USUAL,
	  { 0 },
	  RESET_DONE,
	  0,
	  "kernel default",
	  true,
	  0 },
	{ "the kernel's error",
	  "vfio-pci",
	  "flr\n",
	  AS_USUAL,
	  { .error = -EIO },
	  RESET_FAILED,
	  -EIO,
	  "flr",
	  true,
	  0 },
	{ "of the first method",
	  "vfio-pci",
	  "flr bus\n",
	  AS_USUAL,
	  { .error = -ENOTTY },
	  RESET_FAILED,
	  -ENOTTY,
	  "flr",
	  true,
	  0 },
	{ "of the bus",
	  "vfio-pci",
	  "bus\n",
	  AS_USUAL,
	  { .error = -EAGAIN },
	  RESET_FAILED,
	  -EAGAIN,
	  "bus",
	  true,
	  0 },
	{ "stale: probed before there was a .1",
	  "vfio-pci",
	  "bus\n",
	  AS_USUAL,
	  { .error = -ENOTTY },
	  RESET_NO_METHOD,
	  0,
	  NULL,
	  true,
	  0 },
	/* fault 24 */
	{ "silence afterwards",
	  "vfio-pci",
	  "bus\n",
	  AS_USUAL,
	  { .dies = true },
	  RESET_SILENT,
	  0,
	  NULL,
	  true,
	  1550 },
	{ "whatever the write said",
	  "vfio-pci",
	  "bus\n",
	  AS_USUAL,
	  { .dies = true, .error = -ENOTTY },
	  RESET_SILENT,
	  0,
	  NULL,
	  true,
	  1550 },
	{ "a silent device is not reset at all",
	  "vfio-pci",
	  "flr\n",
	  SILENT,
	  { 0 },
	  RESET_SILENT,
	  0,
	  NULL,
	  false,
	  0 },
	{ "what takes its time is waited for",
	  "vfio-pci",
	  "flr\n",
	  AS_USUAL,
	  { .silent_looks = 3 },
	  RESET_DONE,
	  0,
	  "flr",
	  true,
	  350 },
	{ "a narrower link",
	  "vfio-pci",
	  "flr\n",
	  AS_USUAL,
	  { .lanes = 8 },
	  RESET_LINK_WORSE,
	  0,
	  "flr",
	  true,
	  0 },
	{ "what the host uses is not reset",
	  "nvidia",
	  "flr\n",
	  AS_USUAL,
	  { 0 },
	  RESET_REFUSED,
	  -EBUSY,
	  NULL,
	  false,
	  0 },
	{ "nor for vGPUs",
	  "nvidia-vgpu-vfio",
	  "flr\n",
	  AS_USUAL,
	  { 0 },
	  RESET_REFUSED,
	  -EBUSY,
	  NULL,
	  false,
	  0 },
	{ "on a variant of vfio-pci",
	  "nvgrace_gpu_vfio_pci",
	  "flr\n",
	  AS_USUAL,
	  { 0 },
	  RESET_DONE,
	  0,
	  "flr",
	  true,
	  0 },
	{ "of another name: what it made of the device tells",
	  "nvidia-vgpu-vfio",
	  "flr\n",
	  WITH_VFIO_DEV,
	  { 0 },
	  RESET_DONE,
	  0,
	  "flr",
	  true,
	  0 },
	{ "a bus reset that would hit another board",
	  "vfio-pci",
	  "bus\n",
	  WITH_NEIGHBOUR,
	  { 0 },
	  RESET_REFUSED,
	  -EXDEV,
	  NULL,
	  false,
	  0 },
	{ "a function that is gone",
	  "vfio-pci",
	  "flr\n",
	  GONE,
	  { 0 },
	  RESET_FAILED,
	  -ENOENT,
	  NULL,
	  false,
	  0 },
};

TEST(a_reset_is_judged_by_what_the_kernel_and_the_device_say)
{
	for (size_t i = 0; i < ELEMENTS(resets); i++) {
		_cleanup_(teardown) Bench b;

		setup(&b, resets[i].driver, resets[i].methods);
		arrange(&b, resets[i].before);
		b.after = resets[i].after;
		reset(&b);
		expect(&b, resets[i].what, resets[i].result, resets[i].told, resets[i].method,
		       resets[i].written ? "reset 1" : "");
		if (b.kernel.waited != resets[i].waited)
			fail_msg("%s: %u ms", resets[i].what, b.kernel.waited);
	}
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

static const struct {
	const char *what, *driver_of_audio;
	Before before;
	int error;
	ResetResult result;
	int told;
	const char *method;
	bool written;
} slots[] = {
	{ "with all its functions", "vfio-pci", AS_USUAL, 0, RESET_DONE, 0, "slot", true },
	{ "busy", "vfio-pci", AS_USUAL, -EBUSY, RESET_FAILED, -EBUSY, "slot", true },
	{ "others", "vfio-pci", AS_USUAL, -EXDEV, RESET_FAILED, -EXDEV, "slot", true },
	{ "not viable", "vfio-pci", AS_USUAL, -EPERM, RESET_FAILED, -EPERM, "slot", true },
	{ "fails", "vfio-pci", AS_USUAL, -EIO, RESET_FAILED, -EIO, "slot", true },
	{ "no vfio", "vfio-pci", AS_USUAL, -ENOENT, RESET_NO_METHOD, 0, NULL, true },
	{ "no way", "vfio-pci", AS_USUAL, -EOPNOTSUPP, RESET_NO_METHOD, 0, NULL, true },
	{ "one on a host driver", "nvidia", AS_USUAL, 0, RESET_REFUSED, -EBUSY, NULL, false },
	{ "another board on the bus", "vfio-pci", WITH_NEIGHBOUR, 0, RESET_REFUSED, -EXDEV, NULL,
	  false },
	{ "the other function is silent afterwards", "vfio-pci", WITH_SILENT_AUDIO, 0, RESET_SILENT,
	  0, NULL, true },
};

TEST(a_slot_is_reset_through_vfio)
{
	for (size_t i = 0; i < ELEMENTS(slots); i++) {
		_cleanup_(teardown) Bench b;

		setup_slot(&b, slots[i].driver_of_audio);
		arrange(&b, slots[i].before);
		b.after.error = slots[i].error;
		reset_slot(&b);
		expect(&b, slots[i].what, slots[i].result, slots[i].told, slots[i].method,
		       slots[i].written ? "hot reset " GPU "," AUDIO : "");
		if (slots[i].result == RESET_DONE)
			assert_int_equal(b.report.after.link_width, 16);
	}
}
