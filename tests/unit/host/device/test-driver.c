/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/device/driver.h"
#include "host/scan/sysfs.h"
#include "host/wire/answer.h"
#include "rig/little-memory.h"
#include "rig/sysfs-kernel.h"
#include "rig/sysfs-tree.h"
#include "util/file.h"
#include "util/text.h"

#define GPU "0000:41:00.0"

typedef struct Bench {
	SysfsTree *tree;
	SysfsKernel kernel;
	DriverResult result;
} Bench;

/* A GPU on nvidia. */
static Bench bench_new(void)
{
	Bench b = { .tree = sysfs_tree_new(NULL) };

	tree_add_driver(b.tree, "nvidia");
	tree_add_driver(b.tree, "vfio-pci");
	tree_add_driver(b.tree, "nouveau");
	tree_add_gpu(b.tree, GPU, 0x2230, "nvidia", 33, "0000:40:01.1");
	return b;
}

static void teardown(Bench *b)
{
	driver_result_clear(&b->result);
	sysfs_kernel_clear(&b->kernel);
	sysfs_tree_free(b->tree);
}

/* Moves, and keeps the result and what was written. */
static void move(Bench *b, const char *driver, const char *override)
{
	DriverTarget target = {
		.bdf = tree_bdf(GPU),
		.driver = driver,
		.driver_override = override,
	};
	DriverOps ops = sysfs_kernel_ops(&b->kernel);

	b->kernel.writes = strv_free(b->kernel.writes);
	b->kernel.waited = 0;
	driver_result_clear(&b->result);
	driver_move_with(&ops, b->tree->roots.sysfs_fd, &target, &b->result);
}

static void assert_writes(const Bench *b, const char *expected)
{
	_cleanup_free_ char *found = strv_join(b->kernel.writes, "; ");

	assert_string_equal(found, expected);
}

static void assert_is(const Bench *b, const char *driver, const char *override)
{
	if (!str_equal(b->result.driver, driver) || !str_equal(b->result.driver_override, override))
		fail_msg("on %s with override %s, not %s with %s", str_or_empty(b->result.driver),
			 str_or_empty(b->result.driver_override), str_or_empty(driver),
			 str_or_empty(override));
}

static void assert_failed(const Bench *b, int error, DriverPhase phase, bool changed)
{
	if (b->result.error != error || b->result.phase != phase || b->result.changed != changed)
		fail_msg("%s in %s, %schanged; not %s in %s", strerror(-b->result.error),
			 driver_phase_to_string(b->result.phase), b->result.changed ? "" : "un",
			 strerror(-error), driver_phase_to_string(phase));
}

/* Half of what it has reserved, and the kernel's model in it, too. */
static bool move_with_little_memory(void *userdata)
{
	Bench *b = userdata;

	if (little_memory(MOVE_MEMORY_BYTES / 2) == 0)
		return false;
	move(b, "vfio-pci", "vfio-pci");
	return b->result.error == 0 && b->result.changed &&
	       worker_move_document(&(Bdf){ 0 }, &b->result);
}

TEST(move_does_with_the_memory_that_was_reserved_for_it)
{
	_cleanup_(teardown) Bench b = { 0 };

	if (!GLIBCS_HEAP)
		skip();
	b = bench_new();
	b.kernel.deaf_probes = 2;
	assert_true(little_child(move_with_little_memory, &b));
}

#define LOCK "proc/driver/nvidia/gpus/" GPU "/unbindLock"

/* A vGPU host; *ret_dir is for the kernel, and the caller's. */
static void offer_lock(Bench *b, const char *value, char **ret_dir)
{
	*ret_dir = strf("%s/driver/nvidia/gpus", b->tree->proc);
	tree_write(b->tree, LOCK, value);
	b->kernel.gpus_dir = *ret_dir;
}

static bool lock_reads(const Bench *b, const char *value)
{
	_cleanup_free_ char *path = strf("%s/" LOCK, b->tree->path), *text = NULL;

	return file_read_line_at(AT_FDCWD, path, &text) >= 0 && strcmp(text, value) == 0;
}

TEST(on_a_vgpu_host_the_lock_is_taken_before_anything_is_written)
{
	_cleanup_free_ char *dir = NULL;
	_cleanup_(teardown) Bench b = bench_new();

	offer_lock(&b, "0\n", &dir);
	move(&b, "vfio-pci", "vfio-pci");
	assert_int_equal(b.result.error, 0);
	assert_writes(&b,
		      "unbindLock 1; driver_override vfio-pci; unbind " GPU "; drivers_probe " GPU);
}

/* fault 2 */
TEST(a_gpu_whose_lock_cannot_be_had_stays_as_it_was)
{
	_cleanup_free_ char *dir = NULL;
	_cleanup_(teardown) Bench b = bench_new();

	offer_lock(&b, "0\n", &dir);
	b.kernel.gpu_users = 1;
	move(&b, "vfio-pci", "vfio-pci");
	assert_failed(&b, -EBUSY, DRIVER_PHASE_LOCK, false);
	assert_writes(&b, "unbindLock 1");
	assert_is(&b, "nvidia", NULL);
	assert_true(lock_reads(&b, "0"));
}

TEST(a_lock_is_let_go_when_the_gpu_stays)
{
	_cleanup_free_ char *dir = NULL;
	_cleanup_(teardown) Bench b = bench_new();

	offer_lock(&b, "0\n", &dir);
	b.kernel.failing_path = "driver/unbind";
	b.kernel.failing_error = -EIO;
	move(&b, "vfio-pci", "vfio-pci");
	assert_failed(&b, -EIO, DRIVER_PHASE_UNBIND, true);
	assert_true(lock_reads(&b, "0"));
	/* As of a mover that was killed between the lock and the unbind: the undo finds it so. */
	tree_write(b.tree, LOCK, "1\n");
	move(&b, "nvidia", NULL);
	assert_int_equal(b.result.error, 0);
	assert_true(lock_reads(&b, "0"));
}

#define TO_VFIO "vfio-pci", "vfio-pci"
#define TO_NVIDIA "nvidia", NULL
#define TO_NOUVEAU "nouveau", NULL
#define TO_NONE NULL, NULL
#define WRITES_VFIO "driver_override vfio-pci; unbind " GPU "; drivers_probe " GPU

/* One move, of a GPU on nvidia or, `given`, one on vfio-pci; what the kernel does meanwhile. */
static const struct {
	const char *what;
	bool given;
	SysfsKernel kernel;
	const char *removed; /* before: a file of the tree, or the function itself */
	const char *driver, *override;
	int error;
	DriverPhase phase;
	bool changed;
	const char *is, *is_override, *writes; /* NULL: whatever it writes */
	unsigned waited;
} moves[] = {
	{ "override, then unbind, then probe",
	  false,
	  { 0 },
	  NULL,
	  TO_VFIO,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_VFIO,
	  WRITES_VFIO,
	  0 },
	{ "a second move writes nothing",
	  true,
	  { 0 },
	  NULL,
	  TO_VFIO,
	  0,
	  DRIVER_PHASE_READ,
	  false,
	  TO_VFIO,
	  "",
	  0 },
	{ "giving back clears the override and binds by name",
	  true,
	  { 0 },
	  NULL,
	  TO_NVIDIA,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_NVIDIA,
	  "driver_override \\n; unbind " GPU "; bind " GPU,
	  0 },
	{ "an unregistered driver is noticed before anything is written",
	  false,
	  { 0 },
	  "sys/bus/pci/drivers/vfio-pci",
	  TO_VFIO,
	  -ENODEV,
	  DRIVER_PHASE_READ,
	  false,
	  TO_NVIDIA,
	  "",
	  0 },
	{ "a function that is not there is noticed first",
	  false,
	  { 0 },
	  GPU,
	  TO_VFIO,
	  -ENOENT,
	  DRIVER_PHASE_READ,
	  false,
	  TO_NONE,
	  "",
	  0 },
	/* fault 7 */
	{ "a probe that binds nothing, four times",
	  false,
	  { .deaf_probes = 4 },
	  NULL,
	  TO_VFIO,
	  -ENXIO,
	  DRIVER_PHASE_VERIFY,
	  true,
	  NULL,
	  "vfio-pci",
	  NULL,
	  350 },
	/* fault 5 */
	{ "an IOMMU group that is about to be given back is waited for",
	  true,
	  { .busy_probes = 5 },
	  NULL,
	  TO_NVIDIA,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_NVIDIA,
	  NULL,
	  1550 },
	{ "one that is never given back, eight times",
	  true,
	  { .busy_probes = 8 },
	  NULL,
	  TO_NVIDIA,
	  -EBUSY,
	  DRIVER_PHASE_PROBE,
	  true,
	  TO_NONE,
	  NULL,
	  6350 },
	/* fault 11 */
	{ "a deferred probe is tried again",
	  true,
	  { .deferred_probes = 2 },
	  NULL,
	  TO_NVIDIA,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_NVIDIA,
	  NULL,
	  150 },
	{ "a probe deferred for ever",
	  false,
	  { .deferred_probes = 100 },
	  NULL,
	  TO_VFIO,
	  -EAGAIN,
	  DRIVER_PHASE_PROBE,
	  true,
	  NULL,
	  "vfio-pci",
	  NULL,
	  350 },
	/* fault 17 */
	{ "a driver taken back is unbound again",
	  false,
	  { .stolen_unbinds = 2 },
	  NULL,
	  TO_VFIO,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_VFIO,
	  NULL,
	  150 },
	{ "a driver always taken back",
	  false,
	  { .stolen_unbinds = 100 },
	  NULL,
	  TO_VFIO,
	  -EBUSY,
	  DRIVER_PHASE_VERIFY,
	  true,
	  "nvidia",
	  "vfio-pci",
	  NULL,
	  350 },
	{ "a driver always taken back from none",
	  false,
	  { .stolen_unbinds = 100 },
	  NULL,
	  TO_NONE,
	  -EBUSY,
	  DRIVER_PHASE_VERIFY,
	  true,
	  TO_NVIDIA,
	  NULL,
	  350 },
	{ "another driver that wins the probe is unbound again",
	  false,
	  { .thief = "nouveau", .stolen_probes = 1 },
	  NULL,
	  TO_VFIO,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_VFIO,
	  NULL,
	  50 },
	{ "the right driver bound by udev first is success",
	  true,
	  { .thief = "nvidia", .stolen_probes = 1 },
	  NULL,
	  TO_NVIDIA,
	  0,
	  DRIVER_PHASE_READ,
	  true,
	  TO_NVIDIA,
	  NULL,
	  0 },
	{ "a driver that does not take the device",
	  false,
	  { 0 },
	  NULL,
	  TO_NOUVEAU,
	  -ENODEV,
	  DRIVER_PHASE_PROBE,
	  true,
	  TO_NONE,
	  NULL,
	  0 },
};

TEST(a_move_ends_as_the_kernel_has_it)
{
	for (size_t i = 0; i < ELEMENTS(moves); i++) {
		_cleanup_(teardown) Bench b = bench_new();
		_cleanup_free_ char *writes = NULL;

		if (moves[i].given)
			move(&b, TO_VFIO);
		b.kernel.writes = strv_free(b.kernel.writes);
		b.kernel = moves[i].kernel;
		if (str_equal(moves[i].removed, GPU))
			tree_remove_function(b.tree, GPU);
		else if (moves[i].removed)
			tree_remove(b.tree, moves[i].removed);
		move(&b, moves[i].driver, moves[i].override);
		writes = strv_join(b.kernel.writes, "; ");
		if (b.result.error != moves[i].error || b.result.phase != moves[i].phase ||
		    b.result.changed != moves[i].changed || b.kernel.waited != moves[i].waited ||
		    !str_equal(b.result.driver, moves[i].is) ||
		    !str_equal(b.result.driver_override, moves[i].is_override) ||
		    (moves[i].writes && !str_equal(writes, moves[i].writes)))
			fail_msg("%s: %s in %s, on %s with %s; %s; %u ms", moves[i].what,
				 strerror(-b.result.error), driver_phase_to_string(b.result.phase),
				 str_or_empty(b.result.driver),
				 str_or_empty(b.result.driver_override), writes, b.kernel.waited);
		/* A fault that counts down was met to its end. */
		if (b.kernel.deaf_probes + b.kernel.busy_probes > 0)
			fail_msg("%s: too few tries", moves[i].what);
	}
}

/* Every pair of states that a function can be in leads into the other, and leaves it exactly so. */
TEST(move_reaches_every_state_from_every_other)
{
	static const struct {
		const char *driver, *override;
	} states[] = {
		{ "nvidia", NULL },	   { "vfio-pci", "vfio-pci" }, { NULL, NULL },
		{ NULL, "vfio-pci" },	   { "nvidia", "nvidia" },     { "nvidia", "vfio-pci" },
		{ "vfio-pci", "nouveau" },
	};

	for (size_t from = 0; from < ELEMENTS(states); from++) {
		for (size_t to = 0; to < ELEMENTS(states); to++) {
			bool natural = !str_equal(states[to].driver, "vfio-pci") ||
				       str_equal(states[to].override, "vfio-pci");
			_cleanup_(teardown) Bench b = bench_new();

			if (!natural)
				continue; /* vfio-pci takes a device by override only */
			if (from == 6) {  /* hence this state is made by hand */
				move(&b, "vfio-pci", "vfio-pci");
				tree_write_attribute(b.tree, GPU, "driver_override", "nouveau\n");
			} else {
				move(&b, states[from].driver, states[from].override);
			}
			move(&b, states[to].driver, states[to].override);
			if (b.result.error != 0 || !str_equal(b.result.driver, states[to].driver) ||
			    !str_equal(b.result.driver_override, states[to].override))
				fail_msg("row %zu to %zu: %s, on %s with %s", from, to,
					 strerror(-b.result.error), str_or_empty(b.result.driver),
					 str_or_empty(b.result.driver_override));
			if (from == to && b.kernel.writes)
				fail_msg("row %zu to itself writes", from);
		}
	}
}

TEST(names_that_are_no_drivers_are_refused)
{
	static const char *const drivers[] = { "",	   ".",	 "..", "../nvidia", "a/b",
					       "nvi\ndia", " x", "x ", "-" };
	static const char *const overrides[] = { "", "-", "vfio-pci\n", "(null)", " x" };
	_cleanup_(teardown) Bench b = bench_new();

	for (size_t i = 0; i < ELEMENTS(drivers); i++) {
		move(&b, drivers[i], NULL);
		if (b.result.error != -EINVAL || b.kernel.writes)
			fail_msg("driver row %zu: %d", i, b.result.error);
	}
	for (size_t i = 0; i < ELEMENTS(overrides); i++) {
		move(&b, "vfio-pci", overrides[i]);
		if (b.result.error != -EINVAL || b.kernel.writes)
			fail_msg("override row %zu: %d", i, b.result.error);
	}
}

/* fault 25 */
/* vfio-pci binds it all the same; nobody else would ask. */
TEST(what_does_not_wake_up_is_not_taken_for_bound)
{
	static const unsigned char gone[64] = { [0 ... 63] = 0xff }, there[64] = { 0xde, 0x10 };
	_cleanup_(teardown) Bench b = bench_new();

	tree_write_bytes(b.tree, "sys/" SYSFS_PCI_DEVICES "/" GPU "/config", gone, sizeof(gone));
	move(&b, "vfio-pci", "vfio-pci");
	assert_failed(&b, -ENODEV, DRIVER_PHASE_VERIFY, true);
	assert_is(&b, "vfio-pci", "vfio-pci");
	/* The host's own driver has said itself what it thinks of it. */
	move(&b, "nvidia", NULL);
	assert_int_equal(b.result.error, 0);
	tree_write_bytes(b.tree, "sys/" SYSFS_PCI_DEVICES "/" GPU "/config", there, sizeof(there));
	move(&b, "vfio-pci", "vfio-pci");
	assert_int_equal(b.result.error, 0);
}

TEST(a_failing_write_names_its_phase)
{
	static const struct {
		const char *path;
		int error;
		DriverPhase phase;
		bool changed;
	} rows[] = {
		{ "/driver_override", -EROFS, DRIVER_PHASE_OVERRIDE, false },
		{ "/driver_override", -EACCES, DRIVER_PHASE_OVERRIDE, false },
		{ "/driver/unbind", -EIO, DRIVER_PHASE_UNBIND, true },
		{ "/drivers_probe", -EINVAL, DRIVER_PHASE_PROBE, true },
		{ "/drivers_probe", -EBUSY, DRIVER_PHASE_PROBE, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(teardown) Bench b = bench_new();

		b.kernel.failing_path = rows[i].path;
		b.kernel.failing_error = rows[i].error;
		move(&b, "vfio-pci", "vfio-pci");
		if (b.result.error != rows[i].error || b.result.phase != rows[i].phase ||
		    b.result.changed != rows[i].changed || b.kernel.waited != 0)
			fail_msg("row %zu: %d in %s", i, b.result.error,
				 driver_phase_to_string(b.result.phase));
	}
}

static void lose_function(void *userdata)
{
	tree_remove_function(userdata, GPU);
}

/* fault 12 */
TEST(a_function_that_vanishes_midway_is_an_error)
{
	_cleanup_(teardown) Bench b = bench_new();

	b.kernel.while_unbinding = lose_function;
	b.kernel.userdata = b.tree;
	move(&b, "vfio-pci", "vfio-pci");
	assert_failed(&b, -ENOENT, DRIVER_PHASE_VERIFY, true);
	assert_is(&b, NULL, NULL);
}

/* Writes another override than asked for, as somebody else right behind us would. */
static int lose_override(void *userdata, int sysfs_fd, const char *path, const char *value)
{
	DriverOps ops = sysfs_kernel_ops(userdata);

	if (strstr(path, "driver_override"))
		value = "nouveau";
	return ops.write(ops.userdata, sysfs_fd, path, value);
}

TEST(an_override_that_does_not_hold_stops_before_the_unbind)
{
	DriverTarget target = { .driver = "vfio-pci", .driver_override = "vfio-pci" };
	DriverOps ops;
	_cleanup_(teardown) Bench b = bench_new();

	ops = sysfs_kernel_ops(&b.kernel);
	ops.write = lose_override;
	target.bdf = tree_bdf(GPU);
	driver_move_with(&ops, b.tree->roots.sysfs_fd, &target, &b.result);
	assert_failed(&b, -EBUSY, DRIVER_PHASE_OVERRIDE, true);
	assert_is(&b, "nvidia", "nouveau");
}

/* The real writes, on plain files: exact bytes, and no FIFO or kernel behind them. */
TEST(driver_move_writes_exact_bytes)
{
	DriverTarget target = { .driver = "nvidia", .driver_override = "nvidia" };
	_cleanup_free_ char *now = NULL;
	_cleanup_(teardown) Bench b = bench_new();

	tree_write_attribute(b.tree, GPU, "driver_override", "nvidia");
	target.bdf = tree_bdf(GPU);
	driver_move_with(driver_real_ops(), b.tree->roots.sysfs_fd, &target, &b.result);
	assert_int_equal(b.result.error, 0);
	assert_false(b.result.changed);
	driver_result_clear(&b.result);
	tree_write_attribute(b.tree, GPU, "driver_override", "");
	driver_move_with(driver_real_ops(), b.tree->roots.sysfs_fd, &target, &b.result);
	assert_int_equal(b.result.error, 0);
	assert_true(b.result.changed);
	assert_int_equal(sysfs_read_override(b.tree->roots.sysfs_fd, &target.bdf, &now), 0);
	assert_string_equal(now, "nvidia");
}

TEST(driver_phases_have_names_both_ways)
{
	for (int i = 0; i < DRIVER_PHASE_MAX_; i++) {
		DriverPhase phase = DRIVER_PHASE_MAX_;
		const char *name = driver_phase_to_string((DriverPhase)i);

		assert_non_null(name);
		assert_int_equal(driver_phase_from_string(name, &phase), 0);
		assert_int_equal(phase, i);
	}
	assert_null(driver_phase_to_string(DRIVER_PHASE_MAX_));
}
