/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>

#include "rig/bdf.h"
#include "rig/temp-dir.h"
#include "store/assignments.h"
#include "util/grow.h"
#include "util/xalloc.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define OTHER_UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777"
#define FIRST_FILE UUID ".json"
#define FURTHER_FILE UUID "_0000:61:00.0.json"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define C "0000:a1:00.0"

/* Of the test that runs. */
static AssignmentStore store;
static KeptStore kept_store;

static int setup(void **state)
{
	temp_dir_setup(state);
	records_open(&store.records, &assignment_kind, ((TempDir *)*state)->path);
	records_open_in(&kept_store, &kept_kind, ((TempDir *)*state)->path);
	return 0;
}

static int teardown(void **state)
{
	records_close(&store.records);
	records_close(&kept_store);
	return temp_dir_teardown(state);
}

#define ON_STORES(test) TEST_WITH(test, setup, teardown)

#define FUNCTION(its_bus)                                                                          \
	{                                                                                          \
		.bdf = { .bus = its_bus }, .vendor = 0x10de, .device = 0x2230,                     \
		.subsystem_vendor = 0x10de, .subsystem_device = 0x1459,                            \
		.original_driver = (char *)"nvidia"                                                \
	}
static AssignedFunction at_41[] = { FUNCTION(0x41) }, at_61[] = { FUNCTION(0x61) };

static Assignment assignment_of(const char *uuid, const char *group, AssignedFunction *function)
{
	return (Assignment){
		.domain_uuid = (char *)uuid,
		.domain_name = (char *)"vm42 \"über\"",
		.group_name = (char *)group,
		.functions = function,
		.n_functions = 1,
		.created_usec = 1700000000000000,
		.created_by = 1000,
	};
}

static void save(const char *uuid, const char *group)
{
	Assignment assignment = assignment_of(uuid, group, at_41);

	assert_int_equal(assignment_store_save(&store, &assignment), 0);
}

/* All of them, so many, with so many faults. */
static Assignments *load(size_t n, size_t faults)
{
	Assignments *all = assignment_store_load(&store);

	assert_int_equal(all->n_items, n);
	assert_int_equal(all->faults.n_items, faults);
	return all;
}

ON_STORES(what_is_saved_is_loaded)
{
	const Assignment saved = assignment_of(UUID, "pair0", at_41);
	_cleanup_free_ char *text = assignment_to_json(&saved), *loaded = NULL;
	_cleanup_(assignments_freep) Assignments *all = NULL;

	save(UUID, "pair0");
	save(OTHER_UUID, "pair1");
	all = load(2, 0);
	loaded = assignment_to_json(assignments_of_domain(all, UUID, &(size_t){ 0 }));
	assert_string_equal(loaded, text);
	temp_dir_expect(*state, FIRST_FILE, text);
}

/* What earlier versions set aside counts until a person removes it. */
ON_STORES(what_was_set_aside_is_a_fault_until_it_is_removed)
{
	const TempDir *dir = *state;

	temp_dir_write(dir, FIRST_FILE ".damaged", "\"0000:41:00.0\"");
	for (int removed = 0; removed <= 1; removed++) {
		_cleanup_(assignments_freep) Assignments *all = load(0, !removed);
		const Bdf audio = { 0, 0x41, 0, 1 };

		assert_int_equal(record_faults_find(&all->faults, &audio, 1, NULL, NULL) != NULL,
				 !removed);
		unlinkat(dir->fd, FIRST_FILE ".damaged", 0);
	}
}

/* Nobody knows then which of the domain's files has it. */
ON_STORES(a_domain_with_a_file_of_another_version_keeps_all_its_files)
{
	Assignment assignment = assignment_of(UUID, "pair0", at_41);

	save(UUID, "pair0");
	temp_dir_write(*state, FURTHER_FILE, "{\"schema\": \"org.gpupass1.assignment/9\"}");
	assert_int_equal(assignment_store_check(&store, &assignment), -EPROTO);
	assert_int_equal(assignment_store_save(&store, &assignment), -EPROTO);
	assert_int_equal(assignment_store_remove(&store, &assignment), -EPROTO);
}

ON_STORES(leftovers_and_others_files_are_not_read)
{
	const TempDir *dir = *state;

	temp_dir_write(dir, "." FIRST_FILE ".new", "{\"half");
	temp_dir_write(dir, "README", "by hand");
	temp_dir_write(dir, ".json", "{");
	assignments_free(load(0, 0));
	/* A later save does not stumble over it. */
	save(UUID, "pair0");
}

ON_STORES(a_domain_has_a_file_for_each_of_its_groups_until_it_is_removed)
{
	const TempDir *dir = *state;
	Assignment first = assignment_of(UUID, "pair0", at_41);
	Assignment second = assignment_of(UUID, "pair1", at_61);
	_cleanup_free_ char *one = assignment_to_json(&first), *other = NULL;

	save(UUID, "pair0");
	assert_int_equal(assignment_store_save(&store, &second), 0);
	second.created_by = 7;
	other = assignment_to_json(&second);
	assert_int_equal(assignment_store_save(&store, &second), 0);
	assignments_free(load(2, 0));
	temp_dir_expect(dir, FIRST_FILE, one);
	temp_dir_expect(dir, FURTHER_FILE, other);

	assert_int_equal(assignment_store_remove(&store, &first), 0);
	temp_dir_expect(dir, FIRST_FILE, NULL);
	temp_dir_expect(dir, FURTHER_FILE, other);
	assert_int_equal(assignment_store_remove(&store, &second), 0);
	assert_int_equal(assignment_store_remove(&store, &second), 0);
	assignments_free(load(0, 0));
}

/* ---- kept groups ---- */

/* Boards of one model, by their addresses. */
static Assignment *kept_of(const char *group, KeptWhy why, const char *serial, const char *first,
			   const char *second)
{
	const char *const addresses[] = { first, second };
	Assignment *kept = xcalloc(1, sizeof(*kept));

	kept->group_name = strdup(group);
	kept->kept = why;
	for (size_t i = 0; i < 2 && addresses[i]; i++) {
		AssignedFunction *f = GROW(kept->functions, kept->n_functions);

		f->bdf = bdf_of(addresses[i]);
		f->vendor = f->subsystem_vendor = 0x10de;
		f->device = 0x2230;
		f->serial_number = xstrdup(serial);
	}
	return kept;
}

/* "0000:41:00.0.json pair0 asked; …" */
static void expect_listed(const char *expected)
{
	_cleanup_(assignments_freep) Assignments *all = calloc(1, sizeof(Assignments));
	_cleanup_strv_ char **lines = NULL;
	_cleanup_free_ char *found = NULL;

	records_load(&kept_store, kept_take, all);
	for (size_t i = 0; i < all->n_kept; i++)
		strv_appendf(&lines, "%s %s %s", all->kept[i]->file, all->kept[i]->group_name,
			     kept_why_to_string(all->kept[i]->kept));
	found = strv_join(lines, "; ");
	assert_string_equal(found, expected);
}

static void keep(Assignment *kept)
{
	assert_int_equal(kept_store_check(&kept_store, kept), 0);
	assert_int_equal(kept_store_save(&kept_store, kept), 0);
	assignment_free(kept);
}

ON_STORES(a_saved_group_replaces_all_that_have_one_of_its_functions)
{
	keep(kept_of("pair0", KEPT_ASKED, NULL, A, B));
	keep(kept_of("solo0", KEPT_ASKED, NULL, C, NULL));
	expect_listed(A ".json pair0 asked; " C ".json solo0 asked");
	keep(kept_of("solo1", KEPT_ASKED, NULL, B, NULL));
	expect_listed(B ".json solo1 asked; " C ".json solo0 asked");
}

ON_STORES(a_removal_is_by_functions_and_twice_is_harmless)
{
	_cleanup_(assignment_freep) Assignment *other = kept_of("now", KEPT_ASKED, NULL, B, C);

	keep(kept_of("pair0", KEPT_ASKED, NULL, A, B));
	assert_int_equal(kept_store_remove(&kept_store, other), 0);
	expect_listed("");
	assert_int_equal(kept_store_remove(&kept_store, other), 0);
}

static void follow(Assignment *wanted, Assignment *gone)
{
	_cleanup_(assignments_freep) Assignments *in = calloc(1, sizeof(Assignments));
	_cleanup_(assignments_freep) Assignments *out = calloc(1, sizeof(Assignments));

	if (wanted)
		kept_add(in, wanted);
	if (gone)
		kept_add(out, gone);
	assert_int_equal(kept_store_follow(&kept_store, in, out), 0);
}

ON_STORES(the_setting_comes_and_goes_and_leaves_what_a_person_asked_for)
{
	follow(kept_of("pair0", KEPT_SETTING, NULL, A, B), NULL);
	expect_listed(A ".json pair0 setting");
	follow(NULL, kept_of("pair0", KEPT_SETTING, NULL, A, B));
	expect_listed("");
	keep(kept_of("pair0", KEPT_ASKED, NULL, A, B));
	follow(kept_of("pair0", KEPT_SETTING, NULL, A, B), NULL);
	expect_listed(A ".json pair0 asked");
	follow(NULL, kept_of("pair0", KEPT_SETTING, NULL, A, B));
	expect_listed(A ".json pair0 asked");
}

/* A board on vfio-pci that does not tell its serial number is still the recorded one. */
TEST(a_serial_number_that_is_not_known_now_is_kept)
{
	_cleanup_(assignment_freep) Assignment *with = kept_of("p", KEPT_SETTING, "01", A, B);
	_cleanup_(assignment_freep) Assignment *other = kept_of("p", KEPT_SETTING, "02", A, B);
	_cleanup_(assignment_freep) Assignment *without = kept_of("p", KEPT_SETTING, NULL, A, B);

	assert_true(kept_covers(with, without));
	assert_false(kept_covers(without, with));
	assert_false(kept_covers(with, other));
}
