/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What gpupass-bind does with the functions of assignments.d and kept.d, on a tree of files. It ends
 * before or after any of its writes, too, and runs again: before coldplug at the next boot, or after
 * coldplug by gpupass-bind-verify.service. A child process runs it then; the tree of files, which is
 * the kernel's state, stays.
 */
#include "rig/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind/vfs.h"
#include "host/scan/sysfs.h"
#include "rig/sysfs-kernel.h"
#include "rig/sysfs-tree.h"
#include "util/file.h"
#include "util/text.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define A "0000:41:00.0"
#define A_AUDIO "0000:41:00.1"
#define B "0000:42:00.0"
#define B_AUDIO "0000:42:00.1"
#define SERIAL "00-04-4b-ff-fe-12-34-56"
/* A vendor's variant of vfio-pci. */
#define VARIANT "nvgrace_gpu_vfio_pci"

static const char *const functions[] = { A, A_AUDIO, B, B_AUDIO };

typedef struct Bench {
	SysfsTree *tree;
	SysfsKernel kernel;
	int dir_fd;
	BootReport *report;
	WorkerConfig parts;
	char *worker;
	const char *serial; /* the serial number that each reports now; NULL: none */
	unsigned serials_read;
	Bdf *above; /* bridges, of ports */
	size_t n_above;
	const char *thief_at; /* gets nvidia's driver just before the probes */
	bool counts;	      /* points, before and after each write: */
	unsigned at, now;     /* the one to end at, 0: none; how many have passed */
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

/* Like the real one, but in this process. */
static void probe(const BootMachine *machine, const Bdf *bdfs, size_t n, char **ret_errors)
{
	Bench *b = machine->userdata;

	for (size_t i = 0; i < n; i++) {
		if (b->thief_at && strcmp(BDF_TEXT(&bdfs[i]), b->thief_at) == 0) {
			b->kernel.thief = "nvidia";
			b->kernel.stolen_probes = 1;
		}
		ret_errors[i] = boot_probe(machine->sysfs_fd, &machine->ops, &bdfs[i]);
	}
}

static int serial_number(const BootMachine *machine, const Bdf *bdf _unused_, char **ret)
{
	Bench *b = machine->userdata;

	b->serials_read++;
	*ret = b->serial ? strdup(b->serial) : NULL;
	return 0;
}

/* Two boards, the first on this driver, else without one as before coldplug; and assignments.d in
 * the same tree. */
static Bench setup(const char *driver)
{
	static const char *const drivers[] = { "nvidia", "snd_hda_intel", "vfio-pci", VARIANT };
	Bench b = { .tree = sysfs_tree_new(NULL) };

	for (size_t i = 0; i < ELEMENTS(drivers); i++)
		tree_add_driver(b.tree, drivers[i]);
	tree_add_gpu(b.tree, A, 0x2204, driver, 33, NULL);
	tree_add_gpu(b.tree, B, 0x2204, NULL, 34, NULL);
	tree_write(b.tree, "etc/.keep", "");
	assert_int_equal(dir_open_at(AT_FDCWD, b.tree->path, false, &b.dir_fd), 0);
	return b;
}

static void teardown(Bench *b)
{
	b->report = boot_report_free(b->report);
	free(b->worker);
	sysfs_kernel_clear(&b->kernel);
	close_fd(b->dir_fd);
	sysfs_tree_free(b->tree);
}

/* A record of the first n functions, the first of them with this subsystem and what more is said of
 * it. */
static void write_record(Bench *b, const char *path, const char *head, size_t n,
			 const char *subsystem, const char *more)
{
	_cleanup_strv_ char **records = NULL;
	_cleanup_free_ char *joined = NULL, *text = NULL;

	for (size_t i = 0; i < n; i++)
		strv_appendf(&records,
			     "{\"bdf\": \"%s\", \"vendor\": \"10de\", \"device\": \"%s\","
			     "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"%s\"%s}",
			     functions[i], i % 2 == 0 ? "2204" : "1aef", i > 0 ? "1467" : subsystem,
			     i > 0 ? "" : more);
	joined = strv_join(records, ",");
	text = strf("{\"schema\": \"org.gpupass1.%s, \"created_usec\": 1, \"created_by\": 0,"
		    "\"functions\": [%s]}",
		    head, joined);
	tree_write(b->tree, path, text);
}

/* NULL: as gpupass writes it. */
static void assign_as(Bench *b, const char *file, const char *version, const char *subsystem,
		      const char *serial)
{
	_cleanup_free_ char *path = strf("etc/%s", file ? file : UUID ".json");
	_cleanup_free_ char *head =
		strf("assignment/%s\", \"domain_uuid\": \"" UUID "\", \"domain_name\": \"vm42\","
		     "\"group\": \"pair0\"",
		     version ? version : "1");
	_cleanup_free_ char *told = serial ? strf(", \"serial_number\": \"%s\"", serial) : NULL;

	write_record(b, path, head, 4, subsystem ? subsystem : "1467", str_or_empty(told));
}

static void assign(Bench *b)
{
	assign_as(b, NULL, NULL, NULL, NULL);
}

/* Board A alone, by this subsystem. */
static void keep(Bench *b, const char *subsystem)
{
	write_record(b, "kept/" A ".json", "kept/1\", \"group\": \"solo0\", \"kept\": \"asked\"", 2,
		     subsystem, "");
}

static BootMachine machine_of(Bench *b)
{
	BootMachine machine = {
		.sysfs_fd = b->tree->roots.sysfs_fd,
		.ops = sysfs_kernel_ops(&b->kernel),
		.probe = probe,
		.serial_number = serial_number,
		.rule_vf = vf_rule,
		.parts = &b->parts,
		.userdata = b,
	};

	if (b->counts)
		machine.ops = (DriverOps){
			.write = write_and_pass,
			.wait = never_wait,
			.userdata = b,
		};
	return machine;
}

static BootWishes open_wishes(const Bench *b)
{
	return (BootWishes){
		.assigned_fd = openat(b->dir_fd, "etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.kept_fd = openat(b->dir_fd, "kept", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
}

static void wishes_close(BootWishes *wishes)
{
	close_fd(wishes->assigned_fd);
	close_fd(wishes->kept_fd);
}

static void run(Bench *b, const char *only)
{
	BootMachine machine = machine_of(b);
	_cleanup_(wishes_close) BootWishes wishes = open_wishes(b);
	Bdf bdf = tree_bdf(only ? only : A);

	b->report = boot_report_free(b->report);
	b->kernel.writes = strv_free(b->kernel.writes);
	b->serials_read = 0;
	b->report = boot_bind(&machine, &wishes, only ? &bdf : NULL);
}

/* "bound bound missing missing" */
static void assert_outcomes(const Bench *b, const char *expected)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *found = NULL;

	for (size_t i = 0; i < b->report->n_functions; i++)
		strv_append(&names, boot_outcome_to_string(b->report->functions[i].outcome));
	found = strv_join(names, " ");
	assert_string_equal(found, expected);
}

static void assert_writes(const Bench *b, const char *expected)
{
	_cleanup_free_ char *found = strv_join(b->kernel.writes, "; ");

	assert_string_equal(found, expected);
}

/* No driver lost its function. */
static void assert_never_unbound(const Bench *b)
{
	for (char **w = b->kernel.writes; w && *w; w++)
		if (str_starts_with(*w, "unbind"))
			fail_msg("%s", *w);
}

/* What the rule asks for when this function was found. */
static bool await_peers(Bench *b, const char *found, uint64_t timeout_usec)
{
	BootMachine machine = machine_of(b);
	_cleanup_(wishes_close) BootWishes wishes = open_wishes(b);
	Bdf bdf = tree_bdf(found);

	return boot_await_peers(&machine, &wishes, &bdf, timeout_usec);
}

static void assert_override(const Bench *b, const char *bdf, const char *expected)
{
	_cleanup_free_ char *path = strf("sys/bus/pci/devices/%s/driver_override", bdf),
			    *text = NULL;

	assert_int_equal(file_read_at(b->dir_fd, path, 64, &text, NULL), 0);
	assert_string_equal(text, expected);
}

/* ---- one run ---- */

#define ALL_BOUND "bound bound bound bound"
#define OVERRIDES_OF_A "driver_override vfio-pci; driver_override vfio-pci"
#define OVERRIDES OVERRIDES_OF_A "; " OVERRIDES_OF_A
#define PROBES_OF_B "; drivers_probe " B "; drivers_probe " B_AUDIO

typedef struct Row {
	const char *promise;
	/* before: the first board's driver; the assignment; the subsystem of a kept group */
	const char *driver;
	bool unassigned;
	const char *file, *version, *subsystem, *recorded_serial;
	const char *kept;     /* "{": a file that cannot be read */
	const char *gone[2];  /* functions, or by a "/" what else is not there */
	const char *serial;   /* of the first board now */
	const char *thief_at; /* a function that another driver takes first */
	const char *variant;  /* the first function has a device of vfio */
	unsigned deaf_probes;
	const char *failing_path;
	const char *only;
	/* after: of the report, "" and NULL where there is none; all writes, NULL: any */
	const char *outcomes;
	const char *details[2]; /* of the first functions */
	const char *note;	/* the only one */
	const char *writes;
	unsigned serials_read;
	bool lacks_peers;
} Row;

static const Row rows[] = {
	{ "all overrides are set first", .outcomes = ALL_BOUND,
	  .writes = OVERRIDES "; drivers_probe " A "; drivers_probe " A_AUDIO PROBES_OF_B },
	{ "what is on a variant of vfio-pci counts as bound", VARIANT,
	  .outcomes = "bound taken bound bound", .details = { "", "snd_hda_intel had it first" } },
	{ "of another name: what it made of the device tells", "nvidia", .variant = "511:3\n",
	  .outcomes = "bound taken bound bound" },
	/* fault 52 */
	{ "a driver that was first keeps its function", "nvidia",
	  .outcomes = "taken taken bound bound",
	  .details = { "nvidia had it first", "snd_hda_intel had it first" } },
	{ "a driver that wins the probe keeps its function", .thief_at = B,
	  .outcomes = "bound bound taken bound" },
	{ "a missing board keeps no other from being bound", .gone = { A, A_AUDIO },
	  .outcomes = "missing missing bound bound" },
	/* fault 22 */
	{ "a changed board is left alone as a whole, also a function with ids as recorded",
	  .subsystem = "1454", .outcomes = "changed changed bound bound",
	  .details = { "(subsystem 10de:1467) now and was 10de:2204 (subsystem 10de:1454)",
		       A " is 10de:2204" },
	  .writes = OVERRIDES_OF_A PROBES_OF_B },
	/* fault 22 */
	{ "the serial number tells two of one model apart: the same", .recorded_serial = SERIAL,
	  .serial = SERIAL, .outcomes = ALL_BOUND, .serials_read = 2 },
	{ "another serial number", .recorded_serial = SERIAL, .serial = "00-04-4b-ff-fe-12-34-57",
	  .outcomes = "changed changed bound bound", .serials_read = 2 },
	{ "one that cannot be read proves nothing", .recorded_serial = SERIAL,
	  .outcomes = ALL_BOUND, .serials_read = 2 },
	{ "config space is read only if there is something to compare", .serial = SERIAL,
	  .outcomes = ALL_BOUND },
	{ "without vfio-pci the override keeps others off",
	  .gone = { "/sys/bus/pci/drivers/vfio-pci" },
	  .outcomes = "reserved reserved reserved reserved", .writes = OVERRIDES },
	{ "a probe that fails, all tries, is told and stops no other", .deaf_probes = 4,
	  .outcomes = "failed bound bound bound", .details = { "verify: " } },
	{ "an override that cannot be written is told", .failing_path = A "/driver_override",
	  .outcomes = "failed bound bound bound",
	  .details = { "cannot set driver_override: Read-only file system" } },
	{ "a file that cannot be used is noted", .file = "copy.json", .outcomes = "",
	  .note = "its name is not its domain's UUID", .writes = "" },
	/* fault 41 */
	/* A domain's GPUs are not for the host's own driver because gpupass was downgraded. */
	{ "what another version assigned is bound as far as it can be read", .version = "9",
	  .outcomes = ALL_BOUND, .note = "are bound all the same" },
	{ "another board than this version's record", .version = "9", .subsystem = "1468",
	  .outcomes = "changed changed bound bound", .note = "are bound all the same" },
	{ "an unknown one", .version = "9", .subsystem = "many", .outcomes = "",
	  .note = "was written by a later version" },
	{ "a name of such a file that is not a domain's UUID", .version = "9", .file = "vm42.json",
	  .outcomes = "", .note = "are not bound" },
	{ "udev asks for one function and its whole group is reserved", .only = B_AUDIO,
	  .outcomes = "bound", .writes = OVERRIDES "; drivers_probe " B_AUDIO },
	{ "of another function nothing is done", .only = "0000:43:00.0", .outcomes = "",
	  .writes = "" },
	{ "udev is told that a part of the group is not there", .only = A, .gone = { B_AUDIO },
	  .outcomes = "bound", .lacks_peers = true },
	{ "and that none is missing", .only = B, .outcomes = "bound" },
	{ "a kept group is bound like an assigned one", .unassigned = true, .kept = "1467",
	  .outcomes = "bound bound" },
	/* fault 22 */
	{ "another board where a kept one was is left alone", .unassigned = true, .kept = "1454",
	  .outcomes = "changed changed", .writes = "" },
	/* The assignment's own board, although the kept group had another one there. */
	{ "what is assigned and kept is bound once as it is assigned", .kept = "1454",
	  .outcomes = ALL_BOUND },
	{ "also when udev asks", .kept = "1454", .only = A, .outcomes = "bound" },
	{ "a kept group is bound where nothing was ever assigned", .unassigned = true,
	  .kept = "1467", .gone = { "/etc" }, .only = A, .outcomes = "bound",
	  .writes = OVERRIDES_OF_A "; drivers_probe " A },
	{ "a driver that has a kept function keeps it", "nvidia", .unassigned = true,
	  .kept = "1467", .outcomes = "taken taken" },
	/* fault 60 */
	{ "a kept file that cannot be used stops no assignment", .kept = "{", .outcomes = ALL_BOUND,
	  .note = "kept.d/" A ".json cannot be understood" },
};

static void arrange(Bench *b, const Row *row)
{
	if (!row->unassigned)
		assign_as(b, row->file, row->version, row->subsystem, row->recorded_serial);
	if (row->kept && *row->kept == '{')
		tree_write(b->tree, "kept/" A ".json", row->kept);
	else if (row->kept)
		keep(b, row->kept);
	for (size_t i = 0; i < ELEMENTS(row->gone) && row->gone[i]; i++) {
		if (*row->gone[i] == '/')
			tree_remove(b->tree, row->gone[i] + 1);
		else
			tree_remove_function(b->tree, row->gone[i]);
	}
	if (row->variant)
		tree_write_attribute(b->tree, A, "vfio-dev/vfio3/dev", row->variant);
	b->serial = row->serial;
	b->thief_at = row->thief_at;
	b->kernel.deaf_probes = row->deaf_probes;
	b->kernel.failing_path = row->failing_path;
	b->kernel.failing_error = -EROFS;
}

static void check(const Bench *b, const Row *row)
{
	assert_outcomes(b, row->outcomes);
	assert_never_unbound(b);
	if (row->writes)
		assert_writes(b, row->writes);
	for (size_t i = 0; i < ELEMENTS(row->details) && row->details[i]; i++)
		if (!strstr(str_or_empty(b->report->functions[i].detail), row->details[i]))
			fail_msg("\"%s\" is not in \"%s\"", row->details[i],
				 str_or_empty(b->report->functions[i].detail));
	assert_int_equal(strv_length(b->report->notes), row->note != NULL);
	if (row->note)
		assert_non_null(strstr(b->report->notes[0], row->note));
	assert_true(!row->version || strstr(b->report->notes[0], "was written by a later version"));
	assert_int_equal(b->serials_read, row->serials_read);
	assert_int_equal(b->report->lacks_peers, row->lacks_peers);
}

TEST(what_is_assigned_or_kept_is_bound_and_nothing_is_taken)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(teardown) Bench b = setup(rows[i].driver);

		print_message("%s\n", rows[i].promise);
		arrange(&b, &rows[i]);
		run(&b, rows[i].only);
		check(&b, &rows[i]);
		assert_true(b.kernel.waited == 0 || rows[i].deaf_probes > 0);
		assert_true(!rows[i].file || rows[i].version ||
			    faccessat(b.dir_fd, "etc/copy.json", F_OK, 0) == 0);
	}
}

/* ---- more than one ---- */

/* A guest may have them open. */
TEST(what_is_on_vfio_pci_is_not_written_to)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign_as(&b, NULL, NULL, NULL, SERIAL);
	b.serial = SERIAL;
	run(&b, NULL);
	tree_write_attribute(b.tree, A, "driver_override", "(null)\n");
	run(&b, NULL);
	assert_outcomes(&b, ALL_BOUND);
	assert_writes(&b, "");
	assert_int_equal(b.serials_read, 0);
}

#define NIC "0000:43:00.0"
#define VF "0000:43:00.1"

/* A pair's board, its NIC and its VF; and what more is said of each of these two. */
static void assign_with(Bench *b, const char *nic, const char *vf)
{
	_cleanup_free_ char *text =
		strf("{\"schema\": \"org.gpupass1.assignment/1\", \"domain_uuid\": \"" UUID "\","
		     "\"domain_name\": \"vm42\", \"group\": \"pair0\", \"created_usec\": 1,"
		     "\"created_by\": 0, \"functions\": ["
		     "{\"bdf\": \"" A "\", \"vendor\": \"10de\", \"device\": \"2204\","
		     "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"1467\"},"
		     "{\"bdf\": \"" NIC "\", \"vendor\": \"15b3\", \"device\": \"101d\","
		     "\"subsystem_vendor\": \"15b3\", \"subsystem_device\": \"0023\"%s},"
		     "{\"bdf\": \"" VF "\", \"vendor\": \"15b3\", \"device\": \"101e\","
		     "\"subsystem_vendor\": \"15b3\", \"subsystem_device\": \"0023\"%s}]}",
		     nic, vf);

	tree_write(b->tree, "etc/" UUID ".json", text);
}

static void assign_with_companions(Bench *b, const char *more)
{
	assign_with(b, more, more);
}

/* What gpupass-worker does: a VF that was made was hidden before, and `unruled` is said of it. */
static const char worker[] =
	"#!/bin/sh\n"
	"tree=${1#--sysfs=}/.. verb=$4 error=0\n"
	"echo ${4} ${5} ${6} >>$tree/asked\n"
	"if [ $verb = vfs ]; then\n"
	"	mv $tree/hidden $tree/sys/bus/pci/devices/" VF " 2>/dev/null || error=110\n"
	"	of='\"bdf\": \"" NIC "\", \"number\": 1'\n"
	"else\n"
	"	of='\"nics\": [{\"bdf\": \"" VF
	"\", \"users\": [], \"vf_read\": true, \"spoof_check\": true'\n"
	"	of=\"$of$(cat $tree/unruled)}]\"\n"
	"fi\n"
	"printf '{\"schema\": \"org.gpupass1.worker/1\", \"verb\": \"%s\", \"error\": %s, %s}\\n' $verb $error \"$of\"\n";

static void add_worker(Bench *b)
{
	tree_write(b->tree, "worker", worker);
	tree_write(b->tree, "asked", "");
	assert_int_equal(fchmodat(b->dir_fd, "worker", 0755, 0), 0);
	b->worker = strf("%s/worker", b->tree->path);
	b->parts = (WorkerConfig){
		.program = b->worker,
		.sysfs_dir = b->tree->sysfs,
		.proc_dir = b->tree->proc,
	};
}

static void add_port(Bench *b, const char *bdf, uint16_t device, const char *driver)
{
	bool vf = strcmp(bdf, NIC) != 0;
	PciFunction port = {
		.bdf = tree_bdf(bdf),
		.vendor = 0x15b3,
		.device = device,
		.subsystem_vendor = 0x15b3,
		.subsystem_device = 0x0023,
		.class_code = 0x020000,
		.driver = (char *)driver,
		.iommu_group = device,
		.virtual_function = vf,
		.physical = tree_bdf(NIC),
		.vfs_max = vf ? 0 : 4,
		.vf_offset = 1,
		.vf_stride = 1,
		.upstream = b->above,
		.n_upstream = b->n_above,
	};

	tree_add_function(b->tree, &port);
}

/* Before mlx5_core has it: that takes every NIC that has no driver. */
/* promise M10 */
TEST(companions_are_bound_like_boards)
{
	static const struct {
		const char *driver; /* of the NIC; NULL: none yet */
		uint16_t device;
		bool vf; /* it is there */
		const char *outcomes;
	} found[] = {
		{ NULL, 0x101d, true, "bound bound bound" },
		/* A VF is made by its NIC's driver; and a NIC that has one is left to it. */
		{ NULL, 0x101d, false, "bound bound missing" },
		{ "mlx5_core", 0x101d, true, "bound taken bound" },
		{ NULL, 0x1021, true, "bound changed changed" },
	};

	for (size_t i = 0; i < ELEMENTS(found); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);

		add_worker(&b);
		tree_write(b.tree, "unruled", "");
		tree_add_driver(b.tree, "mlx5_core");
		add_port(&b, NIC, found[i].device, found[i].driver);
		if (found[i].vf)
			add_port(&b, VF, 0x101e, NULL);
		assign_with_companions(&b, "");
		run(&b, NULL);
		assert_outcomes(&b, found[i].outcomes);
		assert_never_unbound(&b);
	}
}

#define OF_PAIR1 "[Group]\nName=pair1\nGpu=0000:44:00.0\nWith=vf:0000:43:00.3\n"
#define MADE(n) "vfs " NIC " " n "\n"
#define RULED "rules " VF "\n"

/* promises M4, M10 */
TEST(vfs_are_made_and_ruled_before_they_are_bound)
{
	static const struct {
		const char *name;
		bool there;
		bool late;			       /* it is made at its NIC's first word */
		const char *unruled, *group;	       /* NULL: nobody rules it; there is none */
		const char *asked, *outcomes, *detail; /* of the VF */
		const char *driver;
	} found[] = {
		{ "one that is missing is made", .late = true, .unruled = "",
		  .asked = MADE("1") RULED, .outcomes = "bound taken bound" },
		{ "with those of other groups", .late = true, .unruled = "", .group = OF_PAIR1,
		  .asked = MADE("3") RULED, .outcomes = "bound taken bound" },
		{ "whatever else is in groups.d", .late = true, .unruled = "", .group = "{",
		  .asked = MADE("1") RULED, .outcomes = "bound taken bound" },
		{ "one that cannot be made is told", .asked = MADE("1"),
		  .outcomes = "bound taken missing",
		  .detail = NIC " could not be given its VFs: worker (pid " },
		{ "one that is there is not made again", true, .unruled = "", .asked = RULED,
		  .outcomes = "bound taken bound" },
		{ "one that something else has bound is ruled", true, .unruled = "", .asked = RULED,
		  .outcomes = "bound taken bound", .driver = "vfio-pci" },
		{ "and told if it cannot be", true, .unruled = ", \"trusted\": true",
		  .asked = RULED, .outcomes = "bound taken failed", .driver = "vfio-pci",
		  .detail = "the spoof check of " VF " is off" },
		{ "without its rules it stays without a driver", true,
		  .unruled = ", \"trusted\": true", .asked = RULED,
		  .outcomes = "bound taken failed", .detail = "the spoof check of " VF " is off" },
		{ "and where they are not known", true, .unruled = "]", .asked = RULED,
		  .outcomes = "bound taken failed",
		  .detail = VF " could not be given the rules of a VF: " },
	};

	for (size_t i = 0; i < ELEMENTS(found); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);
		_cleanup_free_ char *asked = NULL, *hidden = strf("%s/hidden", b.tree->path);
		_cleanup_free_ char *shown = strf("%s/sys/bus/pci/devices/" VF, b.tree->path);
		BootMachine machine = machine_of(&b);

		print_message("%s\n", found[i].name);
		add_worker(&b);
		tree_add_driver(b.tree, "mlx5_core");
		add_port(&b, NIC, 0x101d, "mlx5_core");
		tree_write(b.tree, "unruled", str_or_empty(found[i].unruled));
		if (found[i].there || found[i].late)
			add_port(&b, VF, 0x101e, found[i].driver);
		if (found[i].late)
			assert_int_equal(rename(shown, hidden), 0);
		if (found[i].group)
			tree_write(b.tree, "groups.d/pair1.conf", found[i].group);
		assign_with_companions(&b, "");
		run(&b, NULL);
		vfs_make(&machine, b.tree->path, 1, b.report);
		boot_bind_missing(&machine, b.report);
		assert_int_equal(file_read_at(b.dir_fd, "asked", 4096, &asked, NULL), 0);
		assert_string_equal(asked, found[i].asked);
		assert_outcomes(&b, found[i].outcomes);
		if (found[i].detail && !strstr(b.report->functions[2].detail, found[i].detail))
			fail_msg("%s", b.report->functions[2].detail);
		if (found[i].detail && found[i].there)
			assert_override(&b, VF, "(null)\n");
	}
}

/* It has its rules first. */
TEST(a_wait_for_the_group_gives_no_vf_its_override)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	add_port(&b, VF, 0x101e, NULL);
	assign_with_companions(&b, "");
	assert_false(await_peers(&b, A, 1)); /* the NIC */
	assert_override(&b, VF, "(null)\n");
}

/* The boot waits for exactly that. */
TEST(vfs_are_made_once_their_nic_has_a_network_device)
{
	_cleanup_(teardown) Bench b = setup(NULL);
	BootMachine machine = machine_of(&b);
	_cleanup_free_ char *asked = NULL;
	pid_t pid;

	add_worker(&b);
	add_port(&b, NIC, 0x101d, NULL);
	assign_with_companions(&b, "");
	run(&b, NULL);
	pid = fork();
	if (pid == 0) {
		usleep(300 * 1000);
		assert_int_equal(file_read_at(b.dir_fd, "asked", 4096, &asked, NULL), 0);
		tree_write_attribute(b.tree, NIC, "net/eth5/mtu", asked);
		_exit(*asked != 0);
	}
	vfs_make(&machine, b.tree->path, 60 * 1000000ULL, b.report);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(file_read_at(b.dir_fd, "asked", 4096, &asked, NULL), 0);
	assert_string_equal(asked, MADE("1"));
}

TEST(without_a_missing_vf_nothing_is_waited_for)
{
	_cleanup_(teardown) Bench b = setup(NULL);
	BootMachine machine = machine_of(&b);

	add_port(&b, NIC, 0x101d, NULL);
	assign(&b);
	tree_remove_function(b.tree, B_AUDIO);
	run(&b, NULL);
	vfs_make(&machine, b.tree->path, UINT64_MAX / 2, b.report);
	assert_outcomes(&b, "bound bound bound missing");
}

/* Where addresses have moved, the host's own NIC of the same ids may be there. */
/* fault 22 */
/* promise M10 */
TEST(a_companion_is_known_by_its_serial_number_or_else_by_its_gpus)
{
	static const char recorded[] = ", \"serial_number\": \"" SERIAL "\"";
	static const struct {
		const char *more, *serial;
		const char *gone; /* of the GPU: another one is there where it is "" */
		const char *only;
		const char *outcomes, *detail;
	} found[] = {
		{ recorded, SERIAL, NULL, NULL, "bound bound bound", NULL },
		{ recorded, SERIAL, A, NULL, "missing bound bound", NULL },
		{ recorded, "00-00-00-00-00-00-00-01", NULL, NULL, "bound changed changed",
		  "has serial number 00-00-00-00-00-00-00-01 now" },
		{ recorded, "00-00-00-00-00-00-00-01", NULL, NIC, "changed", NULL },
		{ recorded, NULL, NULL, NULL, "bound bound bound", NULL },
		{ recorded, NULL, A, NULL, "missing changed changed", A " is not there" },
		{ "", SERIAL, A, NULL, "missing changed changed",
		  "no serial number tells " NIC " from others of its model" },
		{ "", NULL, "", NULL, "changed changed changed", A " is 10de:2230" },
		{ "", NULL, "", VF, "changed", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(found); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);

		if (found[i].gone)
			tree_remove_function(b.tree, A);
		if (str_equal(found[i].gone, "")) {
			tree_remove_function(b.tree, A_AUDIO);
			tree_add_gpu(b.tree, A, 0x2230, NULL, 35, NULL);
		}
		add_port(&b, NIC, 0x101d, NULL);
		add_port(&b, VF, 0x101e, NULL);
		add_worker(&b);
		tree_write(b.tree, "unruled", "");
		assign_with_companions(&b, found[i].more);
		b.serial = found[i].serial;
		run(&b, found[i].only);
		assert_outcomes(&b, found[i].outcomes);
		if (found[i].detail)
			assert_non_null(strstr(b.report->functions[1].detail, found[i].detail));
	}
}

/* As after a rescan: udev waits for these before it loads the usual driver. */
/* promise M10 */
TEST(a_companion_that_comes_before_its_gpus_is_bound_once_they_are_there)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	tree_remove_function(b.tree, A);
	tree_remove_function(b.tree, A_AUDIO);
	add_port(&b, NIC, 0x101d, NULL);
	assign_with_companions(&b, "");
	run(&b, NIC);
	assert_outcomes(&b, "changed");
	assert_true(b.report->functions[0].early && b.report->lacks_peers);
	assert_override(&b, NIC, "(null)\n");
	tree_add_gpu(b.tree, A, 0x2230, NULL, 35, NULL);
	run(&b, NIC);
	assert_outcomes(&b, "changed");
	assert_false(b.report->functions[0].early);
	tree_remove_function(b.tree, A);
	tree_remove_function(b.tree, A_AUDIO);
	tree_add_gpu(b.tree, A, 0x2204, NULL, 34, NULL);
	run(&b, NIC);
	assert_outcomes(&b, "bound");
}

#define AT(slot) ", \"path\": \"0000:40:01.1/" slot "\""

/* Where another card has moved the numbers of buses, its address may be the host's own NIC's. */
/* promise M10 */
TEST(a_companion_without_a_serial_number_is_known_by_its_slot)
{
	static const struct {
		const char *nic, *vf, *outcomes, *detail;
		size_t n_above;
	} found[] = {
		{ AT("02.0/00.0"), AT("02.0/00.1"), "bound bound bound", NULL, 2 },
		{ AT("03.0/00.0"), AT("03.0/00.1"), "bound changed changed",
		  NIC " is at 0000:40:01.1/02.0/00.0 now and was at 0000:40:01.1/03.0/00.0", 2 },
		{ AT("00.0"), AT("00.1"), "bound changed changed", "at a place that is not known",
		  0 },
	};

	for (size_t i = 0; i < ELEMENTS(found); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);
		Bdf above[] = { tree_bdf("0000:40:01.1"), tree_bdf("0000:42:02.0") };

		b.above = above;
		b.n_above = found[i].n_above;
		add_worker(&b);
		tree_write(b.tree, "unruled", "");
		add_port(&b, NIC, 0x101d, NULL);
		add_port(&b, VF, 0x101e, NULL);
		assign_with(&b, found[i].nic, found[i].vf);
		run(&b, NULL);
		assert_outcomes(&b, found[i].outcomes);
		if (found[i].detail)
			assert_non_null(strstr(b.report->functions[1].detail, found[i].detail));
	}
}

/* promises M4, M10 */
TEST(vfs_are_made_of_the_nic_that_they_were_of)
{
	static const char recorded[] = ", \"serial_number\": \"" SERIAL "\"";
	static const struct {
		const char *more, *serial, *outcomes, *detail;
	} found[] = {
		{ recorded, SERIAL, "bound taken missing", NULL },
		{ recorded, "00-00-00-00-00-00-00-01", "bound taken changed",
		  "as a VF of " NIC " it has serial number 00-00-00-00-00-00-00-01 now" },
		{ AT("02.0/00.1"), NULL, "bound taken missing", NULL },
		{ AT("03.0/00.1"), NULL, "bound taken changed",
		  "as a VF of " NIC
		  " it is at 0000:40:01.1/02.0/00.1 now and was at 0000:40:01.1/03" },
	};

	for (size_t i = 0; i < ELEMENTS(found); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);
		Bdf above[] = { tree_bdf("0000:40:01.1"), tree_bdf("0000:42:02.0") };
		_cleanup_free_ char *asked = NULL;
		BootMachine machine = machine_of(&b);

		b.above = above;
		b.n_above = ELEMENTS(above);
		b.serial = found[i].serial;
		add_worker(&b);
		tree_add_driver(b.tree, "mlx5_core");
		add_port(&b, NIC, 0x101d, "mlx5_core");
		assign_with(&b, "", found[i].more);
		run(&b, NULL);
		vfs_make(&machine, b.tree->path, 1, b.report);
		assert_int_equal(file_read_at(b.dir_fd, "asked", 4096, &asked, NULL), 0);
		assert_string_equal(asked, found[i].detail ? "" : MADE("1"));
		assert_outcomes(&b, found[i].outcomes);
		if (found[i].detail)
			assert_non_null(strstr(b.report->functions[2].detail, found[i].detail));
	}
}

TEST(what_was_reserved_is_bound_once_vfio_pci_is_there)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	tree_remove(b.tree, "sys/bus/pci/drivers/vfio-pci");
	run(&b, NULL);
	tree_add_driver(b.tree, "vfio-pci");
	run(&b, NULL);
	assert_outcomes(&b, ALL_BOUND);
}

/* The schema holds that of it, too: tests/check-schemas. */
TEST(the_report_is_one_document)
{
	_cleanup_free_ char *text = NULL, *line = NULL, *wanted = NULL;
	_cleanup_(teardown) Bench b = setup("nvidia");

	assign(&b);
	tree_write(b.tree, "etc/other.json", "{");
	run(&b, NULL);
	text = boot_report_to_json(b.report);
	assert_int_equal(
		file_read_at(AT_FDCWD, FIXTURES "/documents/boot.json", 65536, &wanted, NULL), 0);
	assert_string_equal(text, wanted);
	line = boot_function_text(&b.report->functions[3]);
	assert_string_equal(line, B_AUDIO " (pair0, vm42): bound");
}

TEST(what_is_kept_names_no_domain)
{
	_cleanup_free_ char *line = NULL, *text = NULL;
	_cleanup_(teardown) Bench b = setup(NULL);

	keep(&b, "1467");
	run(&b, NULL);
	line = boot_function_text(&b.report->functions[1]);
	assert_string_equal(line, A_AUDIO " (solo0, kept): bound");
	text = boot_report_to_json(b.report);
	assert_null(strstr(text, "domain_uuid"));
}

/* Also where another version wrote the assignment. */
TEST(the_rest_of_a_group_is_reserved_as_soon_as_it_is_there)
{
	static const char *const versions[] = { "1", "9" };

	for (size_t i = 0; i < ELEMENTS(versions); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);
		_cleanup_free_ char *hidden = strf("%s/hidden", b.tree->path);
		_cleanup_free_ char *shown = strf("%s/sys/bus/pci/devices/" B, b.tree->path);
		pid_t pid;

		assign_as(&b, NULL, versions[i], NULL, NULL);
		assert_int_equal(rename(shown, hidden), 0);
		assert_false(await_peers(&b, A, 1)); /* it does not come */
		pid = fork();
		if (pid == 0) {
			usleep(100 * 1000);
			_exit(rename(hidden, shown) < 0);
		}
		assert_true(await_peers(&b, A, 60 * 1000000ULL));
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		assert_override(&b, B, "vfio-pci\n");
		/* The function itself is the affair of --device. */
		assert_override(&b, A, "(null)\n");
	}
}

TEST(who_has_a_driver_is_left_alone_by_a_wait_for_the_group)
{
	_cleanup_(teardown) Bench b = setup("nvidia");

	assign(&b);
	assert_true(await_peers(&b, B, 1));
	assert_override(&b, A, "(null)\n");
}

/* ---- ended at any point ---- */

#define N_POINTS (4 * ELEMENTS(functions)) /* an override and a probe each, before and after */

static Bench setup_counting(void)
{
	Bench b = setup(NULL);

	assign(&b);
	b.counts = true;
	return b;
}

/* 0: it ended at the point; 1: there is no such point any more. */
static int run_until(Bench *b, unsigned at)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		b->at = at;
		run(b, NULL);
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

	for (size_t i = 0; i < ELEMENTS(functions); i++)
		assert_int_equal(ops.write(ops.userdata, b->tree->roots.sysfs_fd,
					   "bus/pci/drivers_probe", functions[i]),
				 0);
}

/* fault 36 */
TEST(ended_anywhere_the_next_run_binds_all)
{
	for (unsigned at = 1; at <= N_POINTS; at++) {
		_cleanup_(teardown) Bench b = setup_counting();

		assert_int_equal(run_until(&b, at), 0);
		run(&b, NULL);
		assert_outcomes(&b, ALL_BOUND);
		for (size_t i = 0; i < ELEMENTS(functions); i++) {
			const Bdf bdf = tree_bdf(functions[i]);
			_cleanup_free_ char *driver = NULL;

			assert_int_equal(sysfs_read_driver(b.tree->roots.sysfs_fd, &bdf, &driver),
					 0);
			assert_string_equal(str_or_empty(driver), "vfio-pci");
		}
	}
}

/* fault 36 */
/* What it had reserved is not lost. For the rest it reports who has it, and unbinds nothing. */
TEST(ended_anywhere_coldplug_gets_no_more_than_what_had_no_override)
{
	for (unsigned at = 1; at <= N_POINTS; at++) {
		_cleanup_(teardown) Bench b = setup_counting();

		assert_int_equal(run_until(&b, at), 0);
		coldplug(&b);
		run(&b, NULL);
		for (size_t i = 0; i < ELEMENTS(functions); i++) {
			BootOutcome expected = i < at / 2 ? BOOT_BOUND : BOOT_TAKEN;

			if (b.report->functions[i].outcome != expected)
				fail_msg("ended at point %u: %s is %s", at, functions[i],
					 boot_outcome_to_string(b.report->functions[i].outcome));
		}
		assert_never_unbound(&b);
	}
}

TEST(these_are_all_points)
{
	_cleanup_(teardown) Bench b = setup_counting();

	assert_int_equal(run_until(&b, N_POINTS + 1), 1);
}
