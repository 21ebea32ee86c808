/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>

#include "rig/temp-dir.h"
#include "store/assignments.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define OTHER_UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777"
#define FILE_NAME UUID ".json"

/* Of the test that runs. */
static AssignmentStore store;

static int setup(void **state)
{
	temp_dir_setup(state);
	records_open(&store.records, &assignment_kind, ((TempDir *)*state)->path);
	return 0;
}

static int teardown(void **state)
{
	records_close(&store.records);
	return temp_dir_teardown(state);
}

#define ON_A_STORE(test) TEST_WITH(test, setup, teardown)

static AssignedFunction functions[] = {
	{ .bdf = { 0, 0x41, 0, 0 },
	  .vendor = 0x10de,
	  .device = 0x2230,
	  .subsystem_vendor = 0x10de,
	  .subsystem_device = 0x1459,
	  .original_driver = (char *)"nvidia" },
};

static Assignment assignment_of(const char *uuid, const char *group)
{
	return (Assignment){
		.domain_uuid = (char *)uuid,
		.domain_name = (char *)"vm42 \"über\"",
		.group_name = (char *)group,
		.functions = functions,
		.n_functions = ELEMENTS(functions),
		.created_usec = 1700000000000000,
		.created_by = 1000,
	};
}

static void save(const char *uuid, const char *group)
{
	Assignment assignment = assignment_of(uuid, group);

	assert_int_equal(assignment_store_save(&store, &assignment), 0);
}

/* All of them, with so many faults. */
static Assignments *load(size_t faults)
{
	Assignments *all = assignment_store_load(&store);

	assert_int_equal(all->faults.n_items, faults);
	return all;
}

ON_A_STORE(what_is_saved_is_loaded)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	const Assignment *one;

	save(UUID, "pair0");
	save(OTHER_UUID, "pair1");
	all = load(0);
	assert_int_equal(all->n_items, 2);
	one = assignments_of_domain(all, UUID, &(size_t){ 0 });
	assert_string_equal(one->domain_name, "vm42 \"über\"");
	assert_string_equal(one->group_name, "pair0");
	assert_int_equal(one->created_usec, 1700000000000000);
	assert_int_equal(one->created_by, 1000);
	assert_int_equal(one->functions[0].device, 0x2230);
	assert_string_equal(one->functions[0].original_driver, "nvidia");
	assert_null(one->functions[0].original_override);
}

/* What earlier versions set aside counts until a person removes it. */
ON_A_STORE(what_was_set_aside_is_a_fault_until_it_is_removed)
{
	const TempDir *dir = *state;
	const Bdf board = { 0, 0x41, 0, 1 };

	temp_dir_write(dir, FILE_NAME ".damaged", "\"0000:41:00.0\"");
	for (int removed = 0; removed <= 1; removed++) {
		_cleanup_(assignments_freep) Assignments *all = load(!removed);

		assert_int_equal(record_faults_find(&all->faults, &board, 1, NULL, NULL) != NULL,
				 !removed);
		unlinkat(dir->fd, FILE_NAME ".damaged", 0);
	}
}

/* Nobody knows then which of the domain's files has it. */
ON_A_STORE(a_domain_with_a_file_of_another_version_keeps_all_its_files)
{
	Assignment assignment = assignment_of(UUID, "pair0");

	save(UUID, "pair0");
	temp_dir_write(*state, UUID "_0000:61:00.0.json",
		       "{\"schema\": \"org.gpupass1.assignment/9\"}");
	assert_int_equal(assignment_store_check(&store, &assignment), -EPROTO);
	assert_int_equal(assignment_store_save(&store, &assignment), -EPROTO);
	assert_int_equal(assignment_store_remove(&store, &assignment), -EPROTO);
}

ON_A_STORE(leftovers_and_others_files_are_not_read)
{
	const TempDir *dir = *state;
	_cleanup_(assignments_freep) Assignments *all = NULL;

	temp_dir_write(dir, "." FILE_NAME ".new", "{\"half");
	temp_dir_write(dir, "README", "by hand");
	temp_dir_write(dir, ".json", "{");
	all = load(0);
	assert_int_equal(all->n_items, 0);
	/* A later save does not stumble over it. */
	save(UUID, "pair0");
}

static AssignedFunction others[] = {
	{ .bdf = { 0, 0x61, 0, 0 },
	  .vendor = 0x10de,
	  .device = 0x2230,
	  .subsystem_vendor = 0x10de,
	  .subsystem_device = 0x1459,
	  .original_driver = (char *)"nvidia" },
};

static Assignment further(void)
{
	Assignment assignment = assignment_of(UUID, "pair1");

	assignment.functions = others;
	assignment.n_functions = ELEMENTS(others);
	return assignment;
}

ON_A_STORE(a_domain_has_a_file_for_each_of_its_groups_until_it_is_removed)
{
	const TempDir *dir = *state;
	Assignment first = assignment_of(UUID, "pair0"), second = further();
	_cleanup_free_ char *one = NULL, *other = NULL, *gone = NULL;
	_cleanup_(assignments_freep) Assignments *all = NULL;

	save(UUID, "pair0");
	assert_int_equal(assignment_store_save(&store, &second), 0);
	second.created_by = 7;
	assert_int_equal(assignment_store_save(&store, &second), 0);
	all = load(0);
	assert_int_equal(all->n_items, 2);
	assert_string_equal(assignments_find_same(all, &second)->group_name, "pair1");
	assert_int_equal(assignments_find_same(all, &second)->created_by, 7);
	assert_string_equal(assignments_find_same(all, &first)->group_name, "pair0");
	one = temp_dir_read(dir, FILE_NAME);
	assert_non_null(one);
	other = temp_dir_read(dir, UUID "_0000:61:00.0.json");
	assert_non_null(other);

	assert_int_equal(assignment_store_remove(&store, &first), 0);
	gone = temp_dir_read(dir, FILE_NAME);
	assert_null(gone);
	assignments_free(all);
	all = load(0);
	assert_int_equal(all->n_items, 1);
	assert_string_equal(all->items[0]->group_name, "pair1");
	assert_int_equal(assignment_store_remove(&store, &second), 0);
	assert_int_equal(assignment_store_remove(&store, &second), 0);
	assignments_free(all);
	all = load(0);
	assert_int_equal(all->n_items, 0);
}
