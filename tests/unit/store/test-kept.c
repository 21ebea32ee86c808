/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept groups as documents and on disk. */
#include "rig/test.h"

#include <string.h>

#include "rig/temp-dir.h"
#include "store/assignments.h"
#include "util/file.h"
#include "util/text.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define C "0000:a1:00.0"

/* Of the test that runs. */
static KeptStore one;

static int setup(void **state)
{
	temp_dir_setup(state);
	records_open(&one, &kept_kind, ((TempDir *)*state)->path);
	return 0;
}

static int teardown(void **state)
{
	records_close(&one);
	return temp_dir_teardown(state);
}

#define ON_A_STORE(test) TEST_WITH(test, setup, teardown)

/* Boards of one model, by their addresses. */
static Assignment *kept_of(const char *group, KeptWhy why, const char *serial, const char *first,
			   const char *second)
{
	Assignment *kept = calloc(1, sizeof(*kept));
	const char *const addresses[] = { first, second };

	assert_non_null(kept);
	kept->group_name = strdup(group);
	kept->kept = why;
	kept->functions = calloc(2, sizeof(AssignedFunction));
	assert_non_null(kept->functions);
	for (size_t i = 0; i < 2 && addresses[i]; i++) {
		AssignedFunction *f = &kept->functions[kept->n_functions++];

		assert_int_equal(bdf_parse(addresses[i], &f->bdf), 0);
		f->vendor = f->subsystem_vendor = 0x10de;
		f->device = 0x2230;
		f->serial_number = serial ? strdup(serial) : NULL;
	}
	return kept;
}

/* "0000:41:00.0.json pair0 asked; …" */
static char *listing(KeptStore *store)
{
	_cleanup_(assignments_freep) Assignments *all = calloc(1, sizeof(Assignments));
	_cleanup_strv_ char **lines = NULL;

	records_load(store, kept_take, all);
	for (size_t i = 0; i < all->n_kept; i++)
		strv_appendf(&lines, "%s %s %s", all->kept[i]->file, all->kept[i]->group_name,
			     kept_why_to_string(all->kept[i]->kept));
	return strv_join(lines, "; ");
}

static void expect_listed(KeptStore *store, const char *expected)
{
	_cleanup_free_ char *found = listing(store);

	assert_string_equal(found, expected);
}

static void save(KeptStore *store, Assignment *kept)
{
	assert_int_equal(kept_store_check(store, kept), 0);
	assert_int_equal(kept_store_save(store, kept), 0);
	assignment_free(kept);
}

ON_A_STORE(a_saved_group_replaces_all_that_have_one_of_its_functions)
{

	save(&one, kept_of("pair0", KEPT_ASKED, NULL, A, B));
	save(&one, kept_of("solo0", KEPT_ASKED, NULL, C, NULL));
	expect_listed(&one, A ".json pair0 asked; " C ".json solo0 asked");
	save(&one, kept_of("solo1", KEPT_ASKED, NULL, B, NULL));
	expect_listed(&one, B ".json solo1 asked; " C ".json solo0 asked");
}

ON_A_STORE(a_removal_is_by_functions_and_twice_is_harmless)
{
	_cleanup_(assignment_freep) Assignment *other = kept_of("now", KEPT_ASKED, NULL, B, C);

	save(&one, kept_of("pair0", KEPT_ASKED, NULL, A, B));
	assert_int_equal(kept_store_remove(&one, other), 0);
	expect_listed(&one, "");
	assert_int_equal(kept_store_remove(&one, other), 0);
}

static void follow(KeptStore *store, Assignment *wanted, Assignment *gone)
{
	_cleanup_(assignments_freep) Assignments *in = calloc(1, sizeof(Assignments));
	_cleanup_(assignments_freep) Assignments *out = calloc(1, sizeof(Assignments));

	if (wanted)
		kept_add(in, wanted);
	if (gone)
		kept_add(out, gone);
	assert_int_equal(kept_store_follow(store, in, out), 0);
}

ON_A_STORE(the_setting_comes_and_goes_and_leaves_what_a_person_asked_for)
{

	follow(&one, kept_of("pair0", KEPT_SETTING, NULL, A, B), NULL);
	expect_listed(&one, A ".json pair0 setting");
	follow(&one, NULL, kept_of("pair0", KEPT_SETTING, NULL, A, B));
	expect_listed(&one, "");
	save(&one, kept_of("pair0", KEPT_ASKED, NULL, A, B));
	follow(&one, kept_of("pair0", KEPT_SETTING, NULL, A, B), NULL);
	expect_listed(&one, A ".json pair0 asked");
	follow(&one, NULL, kept_of("pair0", KEPT_SETTING, NULL, A, B));
	expect_listed(&one, A ".json pair0 asked");
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
