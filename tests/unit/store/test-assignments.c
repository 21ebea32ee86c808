/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>

#include "rig/temp-dir.h"
#include "store/assignments.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define OTHER_UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f7777"
#define FILE_NAME UUID ".json"

#define STORE(state) (&(const AssignmentStore){ .dir_fd = ((TempDir *)*(state))->fd })

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
		.domain_name = (char *)"vm42",
		.group_name = (char *)group,
		.functions = functions,
		.n_functions = ELEMENTS(functions),
		.created_usec = 1700000000000000,
		.created_by = 1000,
	};
}

static void save(void **state, const char *uuid, const char *group)
{
	Assignment assignment = assignment_of(uuid, group);

	assert_int_equal(assignment_store_save(STORE(state), &assignment), 0);
}

static Assignments *load(void **state, char ***ret_notes)
{
	Assignments *all = NULL;

	assert_int_equal(assignment_store_load(STORE(state), &all, ret_notes), 0);
	return all;
}

WITH_DIR(what_is_saved_is_loaded)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;
	const Assignment *one;

	save(state, UUID, "pair0");
	save(state, OTHER_UUID, "pair1");
	all = load(state, &notes);
	assert_null(notes);
	assert_int_equal(all->n_items, 2);
	one = assignments_of_domain(all, UUID, &(size_t){ 0 });
	assert_string_equal(one->group_name, "pair0");
	assert_int_equal(one->created_usec, 1700000000000000);
	assert_int_equal(one->created_by, 1000);
	assert_int_equal(one->functions[0].device, 0x2230);
	assert_string_equal(one->functions[0].original_driver, "nvidia");
	assert_null(one->functions[0].original_override);
}

WITH_DIR(saving_again_replaces)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;

	save(state, UUID, "pair0");
	save(state, UUID, "pair1");
	all = load(state, NULL);
	assert_int_equal(all->n_items, 1);
	assert_string_equal(all->items[0]->group_name, "pair1");
}

WITH_DIR(what_is_removed_is_gone_and_removing_again_is_no_error)
{
	const Assignment assignment = assignment_of(UUID, "pair0");
	_cleanup_(assignments_freep) Assignments *all = NULL;

	save(state, UUID, "pair0");
	assert_int_equal(assignment_store_remove(STORE(state), &assignment), 0);
	assert_int_equal(assignment_store_remove(STORE(state), &assignment), 0);
	all = load(state, NULL);
	assert_int_equal(all->n_items, 0);
}

WITH_DIR(the_directory_is_made_when_it_is_not_there)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *path = strf("%s/etc/gpupass/assignments.d", dir->path);
	_cleanup_(assignments_freep) Assignments *all = NULL;
	AssignmentStore store;

	assert_int_equal(assignment_store_open(path, &store), 0);
	assert_int_equal(assignment_store_load(&store, &all, NULL), 0);
	assert_int_equal(all->n_items, 0);
	assignment_store_close(&store);
	assert_int_equal(store.dir_fd, -1);
	temp_dir_write(dir, "file", "");
	free(path);
	path = strf("%s/file/assignments.d", dir->path);
	assert_int_equal(assignment_store_open(path, &store), -ENOTDIR);
}

static void expect_still_told(void **state)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;

	all = load(state, &notes);
	assert_int_equal(all->n_items, 1);
	assert_int_equal(strv_length(notes), 1);
	assert_non_null(strstr(notes[0], FILE_NAME ".damaged could not be understood"));
}

/* fault 40 */
/* Whatever the file is cut to, its bytes are kept and the other files are read. */
/* promise F1 */
WITH_DIR(a_torn_file_is_set_aside_and_told_of)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *whole = NULL;

	save(state, OTHER_UUID, "pair1");
	save(state, UUID, "pair0");
	whole = temp_dir_read(dir, FILE_NAME);
	for (size_t n = 0; n < strlen(whole) - 2; n += 7) {
		_cleanup_(assignments_freep) Assignments *all = NULL;
		_cleanup_free_ char *kept = NULL, *left = NULL;
		_cleanup_strv_ char **notes = NULL;

		temp_dir_write_bytes(dir, FILE_NAME, whole, n);
		all = load(state, &notes);
		assert_int_equal(all->n_items, 1);
		if (strv_length(notes) != 1 || !strstr(notes[0], "assignments.d/" FILE_NAME) ||
		    !strstr(notes[0], "set aside"))
			fail_msg("%zu bytes: %s", n, notes ? notes[0] : "no note");
		left = temp_dir_read(dir, FILE_NAME);
		assert_null(left);
		expect_still_told(state);
		kept = temp_dir_read(dir, FILE_NAME ".damaged");
		assert_int_equal(strlen(kept), n);
		unlinkat(dir->fd, FILE_NAME ".damaged", 0);
	}
}

WITH_DIR(a_file_set_aside_is_not_overwritten)
{
	const TempDir *dir = *state;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_free_ char *first = NULL, *second = NULL;
	_cleanup_strv_ char **notes = NULL;

	temp_dir_write(dir, FILE_NAME ".damaged", "first");
	temp_dir_write(dir, FILE_NAME, "second");
	all = load(state, &notes);
	assert_int_equal(strv_length(notes), 2);
	assert_non_null(strstr(notes[1], "left in place: File exists"));
	first = temp_dir_read(dir, FILE_NAME ".damaged");
	assert_string_equal(first, "first");
	second = temp_dir_read(dir, FILE_NAME);
	assert_string_equal(second, "second");
}

/* fault 41 */
WITH_DIR(a_newer_versions_file_is_left_in_place_and_kept_from_harm)
{
	static const char newer[] = "{\"schema\": \"org.gpupass1.assignment/9\", \"more\": 1}";
	const TempDir *dir = *state;
	Assignment assignment = assignment_of(UUID, "pair0");
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;
	_cleanup_free_ char *left = NULL;

	temp_dir_write(dir, FILE_NAME, newer);
	all = load(state, &notes);
	assert_int_equal(all->n_items, 0);
	assert_int_equal(strv_length(notes), 1);
	assert_non_null(strstr(notes[0], "another version"));
	assert_int_equal(assignment_store_check(STORE(state), &assignment), -EPROTO);
	assert_int_equal(assignment_store_save(STORE(state), &assignment), -EPROTO);
	assert_int_equal(assignment_store_remove(STORE(state), &assignment), -EPROTO);
	left = temp_dir_read(dir, FILE_NAME);
	assert_string_equal(left, newer);
}

WITH_DIR(a_copy_under_another_name_is_no_second_assignment)
{
	const TempDir *dir = *state;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;
	_cleanup_free_ char *text = NULL;

	save(state, UUID, "pair0");
	text = temp_dir_read(dir, FILE_NAME);
	temp_dir_write(dir, "copy.json", text);
	temp_dir_write(dir, OTHER_UUID ".json", text);
	all = load(state, &notes);
	assert_int_equal(all->n_items, 1);
	assert_int_equal(strv_length(notes), 2);
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(notes[i], "its name is not its domain's UUID"));
}

WITH_DIR(leftovers_and_others_files_are_not_read)
{
	const TempDir *dir = *state;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;

	temp_dir_write(dir, "." FILE_NAME ".new", "{\"half");
	temp_dir_write(dir, "README", "by hand");
	temp_dir_write(dir, ".json", "{");
	all = load(state, &notes);
	assert_int_equal(all->n_items, 0);
	assert_null(notes);
	/* A later save does not stumble over it. */
	save(state, UUID, "pair0");
}

WITH_DIR(a_full_disk_leaves_the_file_as_it_was)
{
	const TempDir *dir = *state;
	Assignment assignment = assignment_of(UUID, "pair1");
	_cleanup_free_ char *before = NULL, *after = NULL, *temporary = NULL, *probe = NULL;
	int checked, saved;

	save(state, UUID, "pair0");
	before = temp_dir_read(dir, FILE_NAME);
	limit_file_size(100);
	checked = assignment_store_check(STORE(state), &assignment);
	saved = assignment_store_save(STORE(state), &assignment);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(checked, -EFBIG);
	assert_int_equal(saved, -EFBIG);
	after = temp_dir_read(dir, FILE_NAME);
	assert_string_equal(after, before);
	temporary = temp_dir_read(dir, "." FILE_NAME ".new");
	assert_null(temporary);
	probe = temp_dir_read(dir, "." FILE_NAME ".check");
	assert_null(probe);
}

WITH_DIR(a_check_leaves_nothing_behind)
{
	const TempDir *dir = *state;
	Assignment assignment = assignment_of(UUID, "pair0");
	_cleanup_closedir_ DIR *entries = opendir(dir->path);
	struct dirent *entry;

	assert_int_equal(assignment_store_check(STORE(state), &assignment), 0);
	while ((entry = readdir(entries)))
		assert_true(str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."));
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

WITH_DIR(a_domain_has_a_file_for_each_of_its_groups)
{
	const TempDir *dir = *state;
	Assignment first = assignment_of(UUID, "pair0"), second = further();
	_cleanup_free_ char *one = NULL, *other = NULL, *gone = NULL;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;

	save(state, UUID, "pair0");
	assert_int_equal(assignment_store_save(STORE(state), &second), 0);
	second.created_by = 7;
	assert_int_equal(assignment_store_save(STORE(state), &second), 0);
	all = load(state, &notes);
	assert_null(notes);
	assert_int_equal(all->n_items, 2);
	assert_string_equal(assignments_find_same(all, &second)->group_name, "pair1");
	assert_int_equal(assignments_find_same(all, &second)->created_by, 7);
	assert_string_equal(assignments_find_same(all, &first)->group_name, "pair0");
	/* Earlier versions know the first, and leave the second alone. */
	one = temp_dir_read(dir, FILE_NAME);
	assert_non_null(strstr(one, "assignment/1\""));
	other = temp_dir_read(dir, UUID "_0000:61:00.0.json");
	assert_non_null(strstr(other, "assignment/3\""));

	assert_int_equal(assignment_store_remove(STORE(state), &first), 0);
	gone = temp_dir_read(dir, FILE_NAME);
	assert_null(gone);
	assignments_free(all);
	all = load(state, NULL);
	assert_int_equal(all->n_items, 1);
	assert_string_equal(all->items[0]->group_name, "pair1");
	assert_int_equal(assignment_store_remove(STORE(state), &second), 0);
	assignments_free(all);
	all = load(state, NULL);
	assert_int_equal(all->n_items, 0);
}

WITH_DIR(a_file_with_anothers_address_in_its_name_is_no_assignment)
{
	const TempDir *dir = *state;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	Assignment second = further();
	_cleanup_strv_ char **notes = NULL;
	_cleanup_free_ char *text = assignment_to_json_further(&second);

	temp_dir_write(dir, UUID "_0000:62:00.0.json", text);
	all = load(state, &notes);
	assert_int_equal(all->n_items, 0);
	assert_int_equal(strv_length(notes), 1);
	assert_string_equal(all->fences[0].domain_uuid, UUID);
}

WITH_DIR(what_is_too_big_to_be_one_is_set_aside)
{
	const TempDir *dir = *state;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;
	_cleanup_free_ char *big = malloc(300 * 1024);

	memset(big, ' ', 300 * 1024);
	temp_dir_write_bytes(dir, FILE_NAME, big, 300 * 1024);
	all = load(state, &notes);
	assert_int_equal(all->n_items, 0);
	assert_int_equal(strv_length(notes), 1);
	assert_non_null(strstr(notes[0], "File too large"));
}
