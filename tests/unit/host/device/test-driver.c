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

static bool lock_reads(const Bench *b, const char *value)
{
	_cleanup_free_ char *path = strf("%s/" LOCK, b->tree->path), *text = NULL;

	return file_read_line_at(AT_FDCWD, path, &text) >= 0 && strcmp(text, value) == 0;
}

static void lose_function(void *userdata)
{
	tree_remove_function(userdata, GPU);
}

static const unsigned char silent[64] = { [0 ... 63] = 0xff }, awake[64] = { 0xde, 0x10 };
static const unsigned char virtual[64] = { 0xff, 0xff, 0xff, 0xff, 0x02 };

#define TO_VFIO .driver = "vfio-pci", .override = "vfio-pci"
#define TO_NVIDIA .driver = "nvidia"
#define STAYS .is = "nvidia"
#define WRITES_VFIO "driver_override vfio-pci; unbind " GPU "; drivers_probe " GPU

/*
 * One move, of a GPU on nvidia or, `given`, one on vfio-pci; what the kernel does meanwhile. It
 * changes something, and one that succeeds ends where it was to.
 */
static const struct {
	const char *what;
	bool given;
	SysfsKernel kernel;
	const char *removed;	     /* before: a file of the tree, or the function itself */
	const char *lock;	     /* a vGPU host, whose lock has this; it is let go of */
	const unsigned char *config; /* what the device answers */
	const char *driver, *override;
	int error;
	DriverPhase phase;
	bool unchanged;
	const char *is, *is_override, *writes; /* NULL: whatever it writes */
	unsigned waited;
} moves[] = {
	ROW("override, then unbind, then probe", TO_VFIO, .writes = WRITES_VFIO),
	ROW("a second move writes nothing", .given = true, TO_VFIO, .unchanged = true,
	    .writes = ""),
	ROW("giving back clears the override and binds by name", .given = true, TO_NVIDIA,
	    .writes = "driver_override \\n; unbind " GPU "; bind " GPU),
	ROW("an unregistered driver is noticed before anything is written",
	    .removed = "sys/bus/pci/drivers/vfio-pci", TO_VFIO, .error = -ENODEV, .unchanged = true,
	    STAYS, .writes = ""),
	ROW("a function that is not there is noticed first", .removed = GPU, TO_VFIO,
	    .error = -ENOENT, .unchanged = true, .writes = ""),
	ROW("on a vGPU host the lock is taken before anything is written", .lock = "0\n", TO_VFIO,
	    .writes = "unbindLock 1; " WRITES_VFIO),
	/* fault 2 */
	ROW("a GPU whose lock cannot be had stays as it was", .lock = "0\n", .kernel.gpu_users = 1,
	    TO_VFIO, .error = -EBUSY, .phase = DRIVER_PHASE_LOCK, .unchanged = true, STAYS,
	    .writes = "unbindLock 1"),
	ROW("a lock is let go when the GPU stays", .lock = "0\n",
	    .kernel = { .failing_path = "driver/unbind", .failing_error = -EIO }, TO_VFIO,
	    .error = -EIO, .phase = DRIVER_PHASE_UNBIND, STAYS, .is_override = "vfio-pci"),
	/* The undo finds it so. */
	ROW("so is that of a mover that was killed before the unbind", .lock = "1\n", TO_NVIDIA,
	    .unchanged = true),
	ROW("a failing override",
	    .kernel = { .failing_path = "/driver_override", .failing_error = -EROFS }, TO_VFIO,
	    .error = -EROFS, .phase = DRIVER_PHASE_OVERRIDE, .unchanged = true, STAYS),
	ROW("one for want of a right",
	    .kernel = { .failing_path = "/driver_override", .failing_error = -EACCES }, TO_VFIO,
	    .error = -EACCES, .phase = DRIVER_PHASE_OVERRIDE, .unchanged = true, STAYS),
	ROW("a failing probe",
	    .kernel = { .failing_path = "/drivers_probe", .failing_error = -EINVAL }, TO_VFIO,
	    .error = -EINVAL, .phase = DRIVER_PHASE_PROBE, .is_override = "vfio-pci"),
	ROW("a driver that is busy of itself is not waited for",
	    .kernel = { .failing_path = "/drivers_probe", .failing_error = -EBUSY }, TO_VFIO,
	    .error = -EBUSY, .phase = DRIVER_PHASE_PROBE, .is_override = "vfio-pci"),
	/* fault 12 */
	ROW("a function that vanishes midway", .kernel.while_unbinding = lose_function, TO_VFIO,
	    .error = -ENOENT, .phase = DRIVER_PHASE_VERIFY),
	/* fault 25 */
	/* vfio-pci binds it all the same; nobody else would ask. */
	ROW("what does not wake up is not taken for bound", .config = silent, TO_VFIO,
	    .error = -ENODEV, .phase = DRIVER_PHASE_VERIFY, .is = "vfio-pci",
	    .is_override = "vfio-pci"),
	ROW("the host's own driver has said itself what it thinks of it", .given = true,
	    .config = silent, TO_NVIDIA),
	ROW("what wakes up is bound", .config = awake, TO_VFIO),
	ROW("so is a VF, whose ids are all ones", .config = virtual, TO_VFIO),
	/* fault 7 */
	ROW("a probe that binds nothing, four times", .kernel.deaf_probes = 4, TO_VFIO,
	    .error = -ENXIO, .phase = DRIVER_PHASE_VERIFY, .is_override = "vfio-pci",
	    .waited = 350),
	/* fault 5 */
	ROW("an IOMMU group that is about to be given back is waited for", .given = true,
	    .kernel.busy_probes = 5, TO_NVIDIA, .waited = 1550),
	ROW("one that is never given back, eight times", .given = true, .kernel.busy_probes = 8,
	    TO_NVIDIA, .error = -EBUSY, .phase = DRIVER_PHASE_PROBE, .waited = 6350),
	/* fault 11 */
	ROW("a deferred probe is tried again", .given = true, .kernel.deferred_probes = 2,
	    TO_NVIDIA, .waited = 150),
	ROW("a probe deferred for ever", .kernel.deferred_probes = 100, TO_VFIO, .error = -EAGAIN,
	    .phase = DRIVER_PHASE_PROBE, .is_override = "vfio-pci", .waited = 350),
	/* fault 17 */
	ROW("a driver taken back is unbound again", .kernel.stolen_unbinds = 2, TO_VFIO,
	    .waited = 150),
	ROW("a driver always taken back", .kernel.stolen_unbinds = 100, TO_VFIO, .error = -EBUSY,
	    .phase = DRIVER_PHASE_VERIFY, STAYS, .is_override = "vfio-pci", .waited = 350),
	ROW("a driver always taken back from none", .kernel.stolen_unbinds = 100, .error = -EBUSY,
	    .phase = DRIVER_PHASE_VERIFY, STAYS, .waited = 350),
	ROW("another driver that wins the probe is unbound again",
	    .kernel = { .thief = "nouveau", .stolen_probes = 1 }, TO_VFIO, .waited = 50),
	ROW("the right driver bound by udev first is success", .given = true,
	    .kernel = { .thief = "nvidia", .stolen_probes = 1 }, TO_NVIDIA),
	ROW("a driver that does not take the device", .driver = "nouveau", .error = -ENODEV,
	    .phase = DRIVER_PHASE_PROBE),
};

static void arrange(Bench *b, size_t i)
{
	if (moves[i].given)
		move(b, "vfio-pci", "vfio-pci");
	b->kernel.writes = strv_free(b->kernel.writes);
	b->kernel = moves[i].kernel;
	b->kernel.userdata = b->tree;
	if (str_equal(moves[i].removed, GPU))
		tree_remove_function(b->tree, GPU);
	else if (moves[i].removed)
		tree_remove(b->tree, moves[i].removed);
	if (moves[i].config)
		tree_write_bytes(b->tree, "sys/" SYSFS_PCI_DEVICES "/" GPU "/config",
				 moves[i].config, sizeof(awake));
	if (moves[i].lock)
		tree_write(b->tree, LOCK, moves[i].lock);
}

TEST(a_move_ends_as_the_kernel_has_it)
{
	for (size_t i = 0; i < ELEMENTS(moves); i++) {
		_cleanup_(teardown) Bench b = bench_new();
		_cleanup_free_ char *gpus = strf("%s/driver/nvidia/gpus", b.tree->proc);
		_cleanup_free_ char *writes = NULL;
		bool well = moves[i].error == 0;

		arrange(&b, i);
		b.kernel.gpus_dir = moves[i].lock ? gpus : NULL;
		move(&b, moves[i].driver, moves[i].override);
		writes = strv_join(b.kernel.writes, "; ");
		if (b.result.error != moves[i].error || b.result.phase != moves[i].phase ||
		    b.result.changed == moves[i].unchanged || b.kernel.waited != moves[i].waited ||
		    !str_equal(b.result.driver, well ? moves[i].driver : moves[i].is) ||
		    !str_equal(b.result.driver_override,
			       well ? moves[i].override : moves[i].is_override) ||
		    (moves[i].writes && !str_equal(writes, moves[i].writes)))
			fail_msg("%s: %s in %s, on %s with %s; %s; %u ms", moves[i].what,
				 strerror(-b.result.error), driver_phase_to_string(b.result.phase),
				 str_or_empty(b.result.driver),
				 str_or_empty(b.result.driver_override), writes, b.kernel.waited);
		/* A fault that counts down was met to its end. */
		if (b.kernel.deaf_probes + b.kernel.busy_probes > 0)
			fail_msg("%s: too few tries", moves[i].what);
		if (moves[i].lock && !(well && b.result.changed) && !lock_reads(&b, "0"))
			fail_msg("%s: the lock is kept", moves[i].what);
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
	static const struct {
		const char *driver, *override;
	} rows[] = {
		{ "", NULL },
		{ ".", NULL },
		{ "..", NULL },
		{ "../nvidia", NULL },
		{ "a/b", NULL },
		{ "nvi\ndia", NULL },
		{ " x", NULL },
		{ "x ", NULL },
		{ "-", NULL },
		{ "vfio-pci", "" },
		{ "vfio-pci", "-" },
		{ "vfio-pci", "vfio-pci\n" },
		{ "vfio-pci", "(null)" },
		{ "vfio-pci", " x" },
	};
	_cleanup_(teardown) Bench b = bench_new();

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		move(&b, rows[i].driver, rows[i].override);
		if (b.result.error != -EINVAL || b.kernel.writes)
			fail_msg("row %zu: %d", i, b.result.error);
	}
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
	assert_int_equal(b.result.error, -EBUSY);
	assert_int_equal(b.result.phase, DRIVER_PHASE_OVERRIDE);
	assert_true(b.result.changed);
	assert_string_equal(b.result.driver, "nvidia");
	assert_string_equal(b.result.driver_override, "nouveau");
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
