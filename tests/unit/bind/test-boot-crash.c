/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-bind ends before or after any of its writes, and runs again: before coldplug at the next
 * boot, or after coldplug by gpupass-bind-verify.service. A child process runs it; the tree of
 * files, which is the kernel's state, stays.
 */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "bind/boot.h"
#include "host/scan/sysfs.h"
#include "rig/sysfs-kernel.h"
#include "rig/sysfs-tree.h"
#include "util/file.h"
#include "util/text.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define N_FUNCTIONS 4
#define N_WRITES (2 * N_FUNCTIONS) /* an override and a probe each */
#define N_POINTS (2 * N_WRITES)	   /* before and after each */

static const char *const functions[N_FUNCTIONS] = {
	"0000:41:00.0",
	"0000:41:00.1",
	"0000:42:00.0",
	"0000:42:00.1",
};

typedef struct Bench {
	SysfsTree *tree;
	SysfsKernel kernel;
	unsigned at, now; /* the point to end at, 0: none; points passed */
} Bench;

static void pass(Bench *b)
{
	if (++b->now == b->at)
		_exit(0);
}

static int write_and_pass(void *userdata, int sysfs_fd, const char *path, const char *value)
{
	Bench *b = userdata;
	const DriverOps ops = sysfs_kernel_ops(&b->kernel);
	int r;

	pass(b);
	r = ops.write(ops.userdata, sysfs_fd, path, value);
	pass(b);
	return r;
}

static void never_wait(_unused_ void *userdata, _unused_ unsigned milliseconds)
{
	fail_msg("nothing is to be waited for");
}

static void probe(const BootMachine *machine, const Bdf *bdfs, size_t n, char **ret_errors)
{
	for (size_t i = 0; i < n; i++)
		ret_errors[i] = boot_probe(machine->sysfs_fd, &machine->ops, &bdfs[i]);
}

static int no_serial_number(_unused_ const BootMachine *machine, _unused_ const Bdf *bdf,
			    char **ret)
{
	*ret = NULL;
	return 0;
}

static void write_record(Bench *b)
{
	_cleanup_free_ char *text = NULL;

	text = strf("{\"schema\": \"org.gpupass1.assignment/1\", \"domain_uuid\": \"" UUID "\","
		    "\"domain_name\": \"vm42\", \"group\": \"pair0\", \"created_usec\": 1,"
		    "\"created_by\": 0, \"functions\": [");
	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		_cleanup_free_ char *before = text;

		text = strf("%s%s{\"bdf\": \"%s\", \"vendor\": \"10de\", \"device\": \"%s\","
			    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"1467\"}%s",
			    before, i > 0 ? "," : "", functions[i], i % 2 == 0 ? "2204" : "1aef",
			    i + 1 == N_FUNCTIONS ? "]}" : "");
	}
	tree_write(b->tree, "etc/" UUID ".json", text);
}

static Bench setup(void)
{
	Bench b = { .tree = sysfs_tree_new(NULL) };

	tree_add_driver(b.tree, "nvidia");
	tree_add_driver(b.tree, "snd_hda_intel");
	tree_add_driver(b.tree, "vfio-pci");
	tree_add_gpu(b.tree, functions[0], 0x2204, NULL, 33, NULL);
	tree_add_gpu(b.tree, functions[2], 0x2204, NULL, 34, NULL);
	write_record(&b);
	return b;
}

static void teardown(Bench *b)
{
	sysfs_kernel_clear(&b->kernel);
	sysfs_tree_free(b->tree);
}

static BootReport *run(Bench *b)
{
	BootMachine machine = {
		.sysfs_fd = b->tree->roots.sysfs_fd,
		.ops = { .write = write_and_pass, .wait = never_wait, .userdata = b },
		.probe = probe,
		.serial_number = no_serial_number,
	};
	_cleanup_free_ char *directory = strf("%s/etc", b->tree->path);
	_cleanup_close_ int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	BootReport *report = NULL;

	assert_int_equal(boot_bind(&machine, &(BootWishes){ fd, -1 }, NULL, &report), 0);
	return report;
}

/* 0: it ended at the point; 1: there is no such point any more. */
static int run_until(Bench *b, unsigned at)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		b->at = at;
		boot_report_free(run(b));
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Loads their drivers, and each takes the functions without an override. */
static void coldplug(Bench *b)
{
	const DriverOps ops = sysfs_kernel_ops(&b->kernel);

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		assert_int_equal(ops.write(ops.userdata, b->tree->roots.sysfs_fd,
					   "bus/pci/drivers_probe", functions[i]),
				 0);
}

static char *driver_of(const Bench *b, size_t i)
{
	const Bdf bdf = tree_bdf(functions[i]);
	char *driver = NULL;

	assert_int_equal(sysfs_read_driver(b->tree->roots.sysfs_fd, &bdf, &driver), 0);
	return driver;
}

/* fault 36 */
TEST(ended_anywhere_the_next_run_binds_all)
{
	for (unsigned at = 1; at <= N_POINTS; at++) {
		_cleanup_(boot_report_freep) BootReport *report = NULL;
		_cleanup_(teardown) Bench b = setup();

		assert_int_equal(run_until(&b, at), 0);
		report = run(&b);
		if (boot_report_count(report, BOOT_BOUND) != N_FUNCTIONS)
			fail_msg("ended at point %u, the next one did not bind all", at);
		for (size_t i = 0; i < N_FUNCTIONS; i++) {
			_cleanup_free_ char *driver = driver_of(&b, i);

			assert_string_equal(str_or_empty(driver), "vfio-pci");
		}
	}
}

/* fault 36 */
/* What it had reserved is not lost. For the rest it reports who has it, and unbinds nothing. */
TEST(ended_anywhere_coldplug_gets_no_more_than_what_had_no_override)
{
	for (unsigned at = 1; at <= N_POINTS; at++) {
		size_t reserved = at / 2 < N_FUNCTIONS ? at / 2 : N_FUNCTIONS;
		_cleanup_(boot_report_freep) BootReport *report = NULL;
		_cleanup_(teardown) Bench b = setup();

		assert_int_equal(run_until(&b, at), 0);
		coldplug(&b);
		report = run(&b);
		for (size_t i = 0; i < N_FUNCTIONS; i++) {
			BootOutcome expected = i < reserved ? BOOT_BOUND : BOOT_TAKEN;

			if (report->functions[i].outcome != expected)
				fail_msg("ended at point %u: %s is %s", at, functions[i],
					 boot_outcome_to_string(report->functions[i].outcome));
		}
		for (char **w = b.kernel.writes; w && *w; w++)
			assert_false(str_starts_with(*w, "unbind"));
	}
}

TEST(these_are_all_points)
{
	_cleanup_(teardown) Bench b = setup();

	assert_int_equal(run_until(&b, N_POINTS + 1), 1);
}
