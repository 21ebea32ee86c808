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

/* Of a slot the audio function is on a driver and answers, too. */
static void setup_slot(Bench *b, const char *driver_of_audio)
{
	static const uint8_t config[64] = { 0xde, 0x10, 0xef, 0x1a };
	_cleanup_free_ char *target = strf("../../../../bus/pci/drivers/%s", driver_of_audio);

	tree_remove_attribute(b->tree, AUDIO, "driver");
	tree_link(b->tree, "sys/bus/pci/devices/" AUDIO "/driver", target);
	tree_write_bytes(b->tree, "sys/bus/pci/devices/" AUDIO "/config", config, sizeof(config));
}

static void reset(Bench *b, bool slot)
{
	DriverOps ops = sysfs_kernel_ops(&b->kernel);
	Bdf bdf = tree_bdf(GPU);

	(slot ? slot_reset_with : function_reset_with)(&ops, b->tree->roots.sysfs_fd, &bdf,
						       &b->report);
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
	reset(&b, false);
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
	reset(b, false);
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

#define ON_VFIO(methods_) .driver = "vfio-pci", .methods = methods_
#define SLOT ON_VFIO("bus\n"), .slot = "vfio-pci"
#define REFUSED(error_) .result = RESET_REFUSED, .told = error_
#define FAILED(error_) .result = RESET_FAILED, .told = error_

static const struct {
	const char *what, *driver, *methods; /* NULL: an old kernel names none */
	Before before;
	After after;
	ResetResult result;
	int told;
	const char *method;
	bool written;
	unsigned waited;
	const char *slot; /* the whole slot, whose audio is on this driver; NULL: the function */
} resets[] = {
	ROW("without a reset, it answers", ON_VFIO(NULL), WITHOUT_RESET, .result = RESET_NO_METHOD),
	ROW("without a reset, it is silent", ON_VFIO(NULL), SILENT_WITHOUT_RESET,
	    .result = RESET_SILENT),
	ROW("methods that are switched off are none", ON_VFIO("\n"), .result = RESET_NO_METHOD),
	/* promise G7 */
	ROW("power management is no reset", ON_VFIO("pm\n"), .result = RESET_NO_METHOD),
	ROW("and is not tried", ON_VFIO("pm bus\n"), .result = RESET_NO_METHOD),
	ROW("an old kernel resets all the same", ON_VFIO(NULL), .result = RESET_DONE,
	    .method = "kernel default", .written = true),
	ROW("the kernel's error", ON_VFIO("flr\n"), .after.error = -EIO, FAILED(-EIO),
	    .method = "flr", .written = true),
	ROW("of the first method", ON_VFIO("flr bus\n"), .after.error = -ENOTTY, FAILED(-ENOTTY),
	    .method = "flr", .written = true),
	ROW("of the bus", ON_VFIO("bus\n"), .after.error = -EAGAIN, FAILED(-EAGAIN),
	    .method = "bus", .written = true),
	ROW("stale: probed before there was a .1", ON_VFIO("bus\n"), .after.error = -ENOTTY,
	    .result = RESET_NO_METHOD, .written = true),
	/* fault 24 */
	ROW("silence afterwards", ON_VFIO("bus\n"), .after.dies = true, .result = RESET_SILENT,
	    .written = true, .waited = 1550),
	ROW("whatever the write said", ON_VFIO("bus\n"),
	    .after = { .dies = true, .error = -ENOTTY }, .result = RESET_SILENT, .written = true,
	    .waited = 1550),
	ROW("a silent device is not reset at all", ON_VFIO("flr\n"), SILENT,
	    .result = RESET_SILENT),
	ROW("what takes its time is waited for", ON_VFIO("flr\n"), .after.silent_looks = 3,
	    .result = RESET_DONE, .method = "flr", .written = true, .waited = 350),
	ROW("a narrower link", ON_VFIO("flr\n"), .after.lanes = 8, .result = RESET_LINK_WORSE,
	    .method = "flr", .written = true),
	ROW("what the host uses is not reset", "nvidia", "flr\n", REFUSED(-EBUSY)),
	ROW("nor for vGPUs", "nvidia-vgpu-vfio", "flr\n", REFUSED(-EBUSY)),
	ROW("on a variant of vfio-pci", "nvgrace_gpu_vfio_pci", "flr\n", .result = RESET_DONE,
	    .method = "flr", .written = true),
	ROW("of another name: what it made of the device tells", "nvidia-vgpu-vfio", "flr\n",
	    WITH_VFIO_DEV, .result = RESET_DONE, .method = "flr", .written = true),
	ROW("a bus reset that would hit another board", ON_VFIO("bus\n"), WITH_NEIGHBOUR,
	    REFUSED(-EXDEV)),
	ROW("a function that is gone", ON_VFIO("flr\n"), GONE, FAILED(-ENOENT)),
	/* The whole slot, through vfio. */
	ROW("with all its functions", SLOT, .result = RESET_DONE, .method = "slot",
	    .written = true),
	ROW("busy", SLOT, .after.error = -EBUSY, FAILED(-EBUSY), .method = "slot", .written = true),
	ROW("others", SLOT, .after.error = -EXDEV, FAILED(-EXDEV), .method = "slot",
	    .written = true),
	ROW("not viable", SLOT, .after.error = -EPERM, FAILED(-EPERM), .method = "slot",
	    .written = true),
	ROW("fails", SLOT, .after.error = -EIO, FAILED(-EIO), .method = "slot", .written = true),
	ROW("no vfio", SLOT, .after.error = -ENOENT, .result = RESET_NO_METHOD, .written = true),
	ROW("no way", SLOT, .after.error = -EOPNOTSUPP, .result = RESET_NO_METHOD, .written = true),
	ROW("one on a host driver", ON_VFIO("bus\n"), .slot = "nvidia", REFUSED(-EBUSY)),
	ROW("another board on the bus of a slot", SLOT, .before = WITH_NEIGHBOUR, REFUSED(-EXDEV)),
	ROW("the other function is silent afterwards", SLOT, .before = WITH_SILENT_AUDIO,
	    .result = RESET_SILENT, .written = true, .waited = 1550),
};

TEST(a_reset_is_judged_by_what_the_kernel_and_the_device_say)
{
	for (size_t i = 0; i < ELEMENTS(resets); i++) {
		_cleanup_(teardown) Bench b;

		setup(&b, resets[i].driver, resets[i].methods);
		if (resets[i].slot)
			setup_slot(&b, resets[i].slot);
		arrange(&b, resets[i].before);
		b.after = resets[i].after;
		reset(&b, resets[i].slot);
		expect(&b, resets[i].what, resets[i].result, resets[i].told, resets[i].method,
		       !resets[i].written ? ""
		       : resets[i].slot	  ? "hot reset " GPU "," AUDIO
					  : "reset 1");
		if (b.kernel.waited != resets[i].waited)
			fail_msg("%s: %u ms", resets[i].what, b.kernel.waited);
		if (resets[i].result == RESET_DONE)
			assert_int_equal(b.report.after.link_width, 16);
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
