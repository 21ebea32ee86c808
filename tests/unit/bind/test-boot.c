/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind/boot.h"
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

typedef struct Bench {
	SysfsTree *tree;
	SysfsKernel kernel;
	int dir_fd;
	BootReport *report;
	const char *serial; /* the serial number that A reports now; NULL: none */
	unsigned serials_read;
	unsigned probed;      /* functions */
	const char *thief_at; /* gets nvidia's driver just before the probes */
} Bench;

/* Like the real one, but in this process. */
static void probe(const BootMachine *machine, const Bdf *functions, size_t n, char **ret_errors)
{
	Bench *b = machine->userdata;

	for (size_t i = 0; i < n; i++) {
		if (b->thief_at && strcmp(BDF_TEXT(&functions[i]), b->thief_at) == 0) {
			b->kernel.thief = "nvidia";
			b->kernel.stolen_probes = 1;
		}
		b->probed++;
		ret_errors[i] = boot_probe(machine->sysfs_fd, &machine->ops, &functions[i]);
	}
}

static int serial_number(const BootMachine *machine, const Bdf *bdf _unused_, char **ret)
{
	Bench *b = machine->userdata;

	b->serials_read++;
	*ret = b->serial ? strdup(b->serial) : NULL;
	return 0;
}

/* A vendor's variant of vfio-pci. */
#define VARIANT "nvgrace_gpu_vfio_pci"

/* Two boards without a driver, as before coldplug, and assignments.d in the same tree. */
static Bench setup(const char *driver)
{
	Bench b = { .tree = sysfs_tree_new(NULL) };

	tree_add_driver(b.tree, "nvidia");
	tree_add_driver(b.tree, "snd_hda_intel");
	tree_add_driver(b.tree, "vfio-pci");
	tree_add_driver(b.tree, VARIANT);
	tree_add_gpu(b.tree, A, 0x2204, driver, 33, NULL);
	tree_add_gpu(b.tree, B, 0x2204, NULL, 34, NULL);
	tree_write(b.tree, "etc/.keep", "");
	assert_int_equal(dir_open_at(AT_FDCWD, b.tree->path, false, &b.dir_fd), 0);
	return b;
}

static void teardown(Bench *b)
{
	b->report = boot_report_free(b->report);
	sysfs_kernel_clear(&b->kernel);
	close_fd(b->dir_fd);
	sysfs_tree_free(b->tree);
}

static void assign_as(Bench *b, const char *name, const char *schema, const char *subsystem,
		      const char *serial)
{
	_cleanup_free_ char *path = strf("etc/%s", name);
	_cleanup_free_ char *told =
		serial ? strf(", \"serial_number\": \"%s\"", serial) : strdup("");
	_cleanup_free_ char *text = NULL;

	assert_non_null(told);
	text = strf("{\"schema\": \"%s\", \"domain_uuid\": \"" UUID "\", \"domain_name\": \"vm42\","
		    "\"group\": \"pair0\", \"created_usec\": 1, \"created_by\": 0, \"functions\": ["
		    "{\"bdf\": \"" A "\", \"vendor\": \"10de\", \"device\": \"2204\","
		    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"%s\"%s},"
		    "{\"bdf\": \"" A_AUDIO "\", \"vendor\": \"10de\", \"device\": \"1aef\","
		    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"1467\"},"
		    "{\"bdf\": \"" B "\", \"vendor\": \"10de\", \"device\": \"2204\","
		    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"1467\"},"
		    "{\"bdf\": \"" B_AUDIO "\", \"vendor\": \"10de\", \"device\": \"1aef\","
		    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"1467\"}]}",
		    schema, subsystem, told);
	tree_write(b->tree, path, text);
}

static void assign(Bench *b)
{
	assign_as(b, UUID ".json", "org.gpupass1.assignment/1", "1467", NULL);
}

static BootMachine machine_of(Bench *b)
{
	return (BootMachine){
		.sysfs_fd = b->tree->roots.sysfs_fd,
		.ops = sysfs_kernel_ops(&b->kernel),
		.probe = probe,
		.serial_number = serial_number,
		.userdata = b,
	};
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
	b->probed = b->serials_read = 0;
	assert_int_equal(boot_bind(&machine, &wishes, only ? &bdf : NULL, &b->report), 0);
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

static void assert_detail(const Bench *b, size_t i, const char *part)
{
	const char *detail = str_or_empty(b->report->functions[i].detail);

	if (!strstr(detail, part))
		fail_msg("\"%s\" is not in \"%s\"", part, detail);
}

static void assert_no_writes(const Bench *b)
{
	_cleanup_free_ char *found = strv_join(b->kernel.writes, "; ");

	assert_string_equal(found, "");
}

/* No driver lost its function. */
static void assert_never_unbound(const Bench *b)
{
	for (char **w = b->kernel.writes; w && *w; w++)
		if (str_starts_with(*w, "unbind"))
			fail_msg("%s", *w);
}

TEST(assigned_functions_are_bound_all_overrides_first)
{
	_cleanup_free_ char *writes = NULL;
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	run(&b, NULL);
	assert_outcomes(&b, "bound bound bound bound");
	assert_null(b.report->notes);
	writes = strv_join(b.kernel.writes, "; ");
	assert_string_equal(writes, "driver_override vfio-pci; driver_override vfio-pci; "
				    "driver_override vfio-pci; driver_override vfio-pci; "
				    "drivers_probe " A "; drivers_probe " A_AUDIO
				    "; drivers_probe " B "; drivers_probe " B_AUDIO);
}

/* A guest may have them open. */
TEST(what_is_on_vfio_pci_is_not_written_to)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign_as(&b, UUID ".json", "org.gpupass1.assignment/1", "1467", SERIAL);
	b.serial = SERIAL;
	run(&b, NULL);
	tree_write_attribute(b.tree, A, "driver_override", "(null)\n");
	run(&b, NULL);
	assert_outcomes(&b, "bound bound bound bound");
	assert_no_writes(&b);
	assert_int_equal(b.probed, 0);
	assert_int_equal(b.serials_read, 0);
}

TEST(what_is_on_a_variant_of_vfio_pci_counts_as_bound)
{
	Bench b = setup(VARIANT);

	assign(&b);
	run(&b, NULL);
	assert_outcomes(&b, "bound taken bound bound");
	assert_detail(&b, 1, "snd_hda_intel had it first");
	assert_never_unbound(&b);
	teardown(&b);
	/* of another name: what it made of the device tells */
	b = setup("nvidia");
	assign(&b);
	tree_write_attribute(b.tree, A, "vfio-dev/vfio3/dev", "511:3\n");
	run(&b, NULL);
	assert_outcomes(&b, "bound taken bound bound");
	teardown(&b);
}

/* fault 52 */
TEST(a_driver_that_was_first_keeps_its_function)
{
	_cleanup_(teardown) Bench b = setup("nvidia");

	assign(&b);
	run(&b, NULL);
	assert_outcomes(&b, "taken taken bound bound");
	assert_detail(&b, 0, "nvidia had it first");
	assert_detail(&b, 1, "snd_hda_intel had it first");
	assert_never_unbound(&b);
}

TEST(a_driver_that_wins_the_probe_keeps_its_function)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	b.thief_at = B;
	run(&b, NULL);
	assert_outcomes(&b, "bound bound taken bound");
	assert_never_unbound(&b);
	assert_int_equal(b.kernel.waited, 0);
}

TEST(a_missing_board_keeps_no_other_from_being_bound)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	tree_remove_function(b.tree, A);
	tree_remove_function(b.tree, A_AUDIO);
	run(&b, NULL);
	assert_outcomes(&b, "missing missing bound bound");
}

/* fault 22 */
/* Both functions, although the audio function's own ids are as recorded. */
TEST(a_changed_board_is_left_alone_as_a_whole)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign_as(&b, UUID ".json", "org.gpupass1.assignment/1", "1454", NULL);
	run(&b, NULL);
	assert_outcomes(&b, "changed changed bound bound");
	assert_detail(&b, 0, "(subsystem 10de:1467) now and was 10de:2204 (subsystem 10de:1454)");
	assert_detail(&b, 1, A " is 10de:2204");
	assert_int_equal(strv_length(b.kernel.writes), 4);
}

/* fault 22 */
TEST(the_serial_number_tells_two_of_one_model_apart)
{
	static const struct {
		const char *recorded, *now, *outcomes;
		unsigned reads;
	} rows[] = {
		{ SERIAL, SERIAL, "bound bound bound bound", 2 },
		{ SERIAL, "00-04-4b-ff-fe-12-34-57", "changed changed bound bound", 2 },
		/* A serial number that cannot be read proves nothing. */
		{ SERIAL, NULL, "bound bound bound bound", 2 },
		/* Config space is read only if there is something to compare. */
		{ NULL, SERIAL, "bound bound bound bound", 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);

		assign_as(&b, UUID ".json", "org.gpupass1.assignment/1", "1467", rows[i].recorded);
		b.serial = rows[i].now;
		run(&b, NULL);
		print_message("row %zu\n", i);
		assert_outcomes(&b, rows[i].outcomes);
		assert_int_equal(b.serials_read, rows[i].reads);
	}
}

TEST(without_vfio_pci_the_override_keeps_others_off)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	tree_remove(b.tree, "sys/bus/pci/drivers/vfio-pci");
	run(&b, NULL);
	assert_outcomes(&b, "reserved reserved reserved reserved");
	assert_int_equal(b.probed, 0);
	assert_int_equal(strv_length(b.kernel.writes), 4);
	tree_add_driver(b.tree, "vfio-pci");
	run(&b, NULL);
	assert_outcomes(&b, "bound bound bound bound");
}

TEST(a_probe_that_fails_is_told_and_stops_no_other)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	b.kernel.deaf_probes = 4; /* all tries of the first function */
	run(&b, NULL);
	assert_outcomes(&b, "failed bound bound bound");
	assert_detail(&b, 0, "verify: ");
}

TEST(an_override_that_cannot_be_written_is_told)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	b.kernel.failing_path = A "/driver_override";
	b.kernel.failing_error = -EROFS;
	run(&b, NULL);
	assert_outcomes(&b, "failed bound bound bound");
	assert_detail(&b, 0, "cannot set driver_override: Read-only file system");
}

TEST(a_file_that_cannot_be_used_is_noted_and_left_in_place)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign_as(&b, "copy.json", "org.gpupass1.assignment/1", "1467", NULL);
	run(&b, NULL);
	assert_int_equal(b.report->n_functions, 0);
	assert_int_equal(strv_length(b.report->notes), 1);
	assert_non_null(strstr(b.report->notes[0], "its name is not its domain's UUID"));
	assert_no_writes(&b);
	assert_int_equal(faccessat(b.dir_fd, "etc/copy.json", F_OK, 0), 0);
}

/* fault 41 */
/* A domain's GPUs are not for the host's own driver because gpupass was downgraded. */
TEST(what_another_version_assigned_is_bound_as_far_as_it_can_be_read)
{
	static const struct {
		const char *name, *subsystem;
		const char *outcomes; /* "": nothing is bound */
	} rows[] = {
		{ UUID ".json", "1467", "bound bound bound bound" },
		/*
		 * Another board than the recorded one; an unknown one; a file name that is not a
		 * domain's UUID.
		 */
		{ UUID ".json", "1468", "changed changed bound bound" },
		{ UUID ".json", "many", "" },
		{ "vm42.json", "1467", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(teardown) Bench b = setup(NULL);

		assign_as(&b, rows[i].name, "org.gpupass1.assignment/9", rows[i].subsystem, NULL);
		run(&b, NULL);
		print_message("row %zu\n", i);
		if (*rows[i].outcomes)
			assert_outcomes(&b, rows[i].outcomes);
		else
			assert_int_equal(b.report->n_functions, 0);
		assert_int_equal(strv_length(b.report->notes), 1);
		assert_non_null(strstr(b.report->notes[0], "was written by another version"));
		assert_non_null(strstr(b.report->notes[0], *rows[i].outcomes
								   ? "are bound all the same"
								   : "are not bound"));
	}
}

/* udev loads that one's usual driver next, which would take the others of its group. */
TEST(udev_asks_for_one_function_and_its_whole_group_is_reserved)
{
	_cleanup_free_ char *writes = NULL;
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	run(&b, B_AUDIO);
	assert_outcomes(&b, "bound");
	writes = strv_join(b.kernel.writes, "; ");
	assert_string_equal(writes, "driver_override vfio-pci; driver_override vfio-pci; "
				    "driver_override vfio-pci; driver_override vfio-pci; "
				    "drivers_probe " B_AUDIO);
	run(&b, "0000:43:00.0");
	assert_int_equal(b.report->n_functions, 0);
	assert_no_writes(&b);
}

TEST(the_report_is_one_document)
{
	_cleanup_free_ char *text = NULL, *line = NULL, *wanted = NULL;
	json_t *root, *first;
	size_t size = 0;
	_cleanup_(teardown) Bench b = setup("nvidia");

	assign(&b);
	tree_write(b.tree, "etc/other.json", "{");
	run(&b, NULL);
	text = boot_report_to_json(b.report);
	assert_int_equal(
		file_read_at(AT_FDCWD, FIXTURES "/documents/boot.json", 65536, &wanted, &size), 0);
	assert_string_equal(text, wanted); /* which tests/check-schemas holds to its schema */
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "schema")),
			    "org.gpupass1.boot/1");
	assert_int_equal(json_array_size(json_object_get(root, "functions")), 4);
	assert_int_equal(json_array_size(json_object_get(root, "notes")), 1);
	first = json_array_get(json_object_get(root, "functions"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "bdf")), A);
	assert_string_equal(json_string_value(json_object_get(first, "group")), "pair0");
	assert_string_equal(json_string_value(json_object_get(first, "outcome")), "taken");
	json_decref(root);
	line = boot_function_text(&b.report->functions[3]);
	assert_string_equal(line, B_AUDIO " (pair0, vm42): bound");
}

/* What the rule asks for when this function was found. */
static int await_peers(Bench *b, const char *found, uint64_t timeout_usec)
{
	BootMachine machine = machine_of(b);
	_cleanup_(wishes_close) BootWishes wishes = open_wishes(b);
	Bdf bdf = tree_bdf(found);

	b->kernel.writes = strv_free(b->kernel.writes);
	return boot_await_peers(&machine, &wishes, &bdf, timeout_usec);
}

static char *override_of(const Bench *b, const char *bdf)
{
	_cleanup_free_ char *path = strf("sys/bus/pci/devices/%s/driver_override", bdf);
	char *text = NULL;

	assert_int_equal(file_read_at(b->dir_fd, path, 64, &text, NULL), 0);
	return text;
}

static void expect_the_rest_reserved_when_it_comes(const char *schema)
{
	_cleanup_free_ char *hidden = NULL, *shown = NULL, *override = NULL, *own = NULL;
	pid_t pid;
	Bench b = setup(NULL);

	assign_as(&b, UUID ".json", schema, "1467", NULL);
	run(&b, B);
	assert_false(b.report->lacks_peers);
	teardown(&b);
	b = setup(NULL);
	assign_as(&b, UUID ".json", schema, "1467", NULL);
	hidden = strf("%s/hidden", b.tree->path);
	shown = strf("%s/sys/bus/pci/devices/" B, b.tree->path);
	assert_int_equal(rename(shown, hidden), 0);
	assert_int_equal(await_peers(&b, A, 1), 0); /* it does not come */
	pid = fork();
	if (pid == 0) {
		usleep(100 * 1000);
		_exit(rename(hidden, shown) < 0);
	}
	assert_int_equal(await_peers(&b, A, 60 * 1000000ULL), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	override = override_of(&b, B);
	assert_string_equal(override, "vfio-pci\n");
	/* The function itself is the affair of --device. */
	own = override_of(&b, A);
	assert_string_equal(own, "(null)\n");
	teardown(&b);
}

/* Also where another version wrote the assignment. */
TEST(the_rest_of_a_group_is_reserved_as_soon_as_it_is_there)
{
	expect_the_rest_reserved_when_it_comes("org.gpupass1.assignment/1");
	expect_the_rest_reserved_when_it_comes("org.gpupass1.assignment/9");
}

TEST(udev_is_told_that_a_part_of_the_group_is_not_there)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	tree_remove_function(b.tree, B_AUDIO);
	run(&b, A);
	assert_outcomes(&b, "bound");
	assert_true(b.report->lacks_peers);
}

TEST(who_has_a_driver_is_left_alone_by_a_wait_for_the_group)
{
	_cleanup_free_ char *override = NULL;
	_cleanup_(teardown) Bench b = setup("nvidia");

	assign(&b);
	assert_int_equal(await_peers(&b, B, 1), 1);
	override = override_of(&b, A);
	assert_string_equal(override, "(null)\n");
}

/* ---- kept groups ---- */

/* Board A alone, by this subsystem. */
static void keep(Bench *b, const char *subsystem)
{
	_cleanup_free_ char *text = NULL;

	text = strf("{\"schema\": \"org.gpupass1.kept/1\", \"group\": \"solo0\","
		    "\"kept\": \"asked\", \"created_usec\": 1, \"created_by\": 0, \"functions\": ["
		    "{\"bdf\": \"" A "\", \"vendor\": \"10de\", \"device\": \"2204\","
		    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"%s\"},"
		    "{\"bdf\": \"" A_AUDIO "\", \"vendor\": \"10de\", \"device\": \"1aef\","
		    "\"subsystem_vendor\": \"10de\", \"subsystem_device\": \"1467\"}]}",
		    subsystem);
	tree_write(b->tree, "kept/" A ".json", text);
}

TEST(a_kept_group_is_bound_like_an_assigned_one)
{
	_cleanup_free_ char *line = NULL, *text = NULL;
	_cleanup_(teardown) Bench b = setup(NULL);

	keep(&b, "1467");
	run(&b, NULL);
	assert_outcomes(&b, "bound bound");
	line = boot_function_text(&b.report->functions[1]);
	assert_string_equal(line, A_AUDIO " (solo0, kept): bound");
	text = boot_report_to_json(b.report);
	assert_non_null(text);
	assert_null(strstr(text, "domain_uuid"));
}

/* fault 22 */
TEST(another_board_where_a_kept_one_was_is_left_alone)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	keep(&b, "1454");
	run(&b, NULL);
	assert_outcomes(&b, "changed changed");
	assert_no_writes(&b);
}

/* The assignment's own board, although the kept group had another one there. */
TEST(what_is_assigned_and_kept_is_bound_once_as_it_is_assigned)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	keep(&b, "1454");
	run(&b, NULL);
	assert_outcomes(&b, "bound bound bound bound");
	run(&b, A);
	assert_outcomes(&b, "bound");
}

TEST(a_kept_group_is_bound_where_nothing_was_ever_assigned)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	tree_remove(b.tree, "etc");
	keep(&b, "1467");
	run(&b, A);
	assert_outcomes(&b, "bound");
	assert_int_equal(strv_length(b.kernel.writes), 3); /* two overrides, one probe */
}

TEST(a_driver_that_has_a_kept_function_keeps_it)
{
	_cleanup_(teardown) Bench b = setup("nvidia");

	keep(&b, "1467");
	run(&b, NULL);
	assert_outcomes(&b, "taken taken");
	assert_never_unbound(&b);
}

/* fault 60 */
TEST(a_kept_file_that_cannot_be_used_stops_no_assignment)
{
	_cleanup_(teardown) Bench b = setup(NULL);

	assign(&b);
	tree_write(b.tree, "kept/" A ".json", "{");
	run(&b, NULL);
	assert_outcomes(&b, "bound bound bound bound");
	assert_int_equal(strv_length(b.report->notes), 1);
	assert_non_null(strstr(b.report->notes[0], "kept.d/" A ".json cannot be understood"));
}
