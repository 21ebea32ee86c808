/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept groups as documents and on disk. */
#include "rig/test.h"

#include "rig/bdf.h"
#include "rig/temp-dir.h"
#include "store/assignments.h"
#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define C "0000:a1:00.0"

/* Of the test that runs. */
static KeptStore store;

static int setup(void **state)
{
	temp_dir_setup(state);
	records_open(&kept_kind, ((TempDir *)*state)->path);
	return 0;
}

static int teardown(void **state)
{
	records_close(&store);
	return temp_dir_teardown(state);
}

#define ON_A_STORE(test) TEST_WITH(test, setup, teardown)

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

	records_load(&store, kept_take, all);
	for (size_t i = 0; i < all->n_kept; i++)
		strv_appendf(&lines, "%s %s %s", all->kept[i]->file, all->kept[i]->group_name,
			     kept_why_to_string(all->kept[i]->kept));
	found = strv_join(lines, "; ");
	assert_string_equal(found, expected);
}

static void save(Assignment *kept)
{
	assert_int_equal(kept_store_check(&store, kept), 0);
	assert_int_equal(kept_store_save(&store, kept), 0);
	assignment_free(kept);
}

ON_A_STORE(a_saved_group_replaces_all_that_have_one_of_its_functions)
{
	save(kept_of("pair0", KEPT_ASKED, NULL, A, B));
	save(kept_of("solo0", KEPT_ASKED, NULL, C, NULL));
	expect_listed(A ".json pair0 asked; " C ".json solo0 asked");
	save(kept_of("solo1", KEPT_ASKED, NULL, B, NULL));
	expect_listed(B ".json solo1 asked; " C ".json solo0 asked");
}

ON_A_STORE(a_removal_is_by_functions_and_twice_is_harmless)
{
	_cleanup_(assignment_freep) Assignment *other = kept_of("now", KEPT_ASKED, NULL, B, C);

	save(kept_of("pair0", KEPT_ASKED, NULL, A, B));
	assert_int_equal(kept_store_remove(&store, other), 0);
	expect_listed("");
	assert_int_equal(kept_store_remove(&store, other), 0);
}

static void follow(Assignment *wanted, Assignment *gone)
{
	_cleanup_(assignments_freep) Assignments *in = calloc(1, sizeof(Assignments));
	_cleanup_(assignments_freep) Assignments *out = calloc(1, sizeof(Assignments));

	if (wanted)
		kept_add(in, wanted);
	if (gone)
		kept_add(out, gone);
	assert_int_equal(kept_store_follow(&store, in, out), 0);
}

ON_A_STORE(the_setting_comes_and_goes_and_leaves_what_a_person_asked_for)
{
	follow(kept_of("pair0", KEPT_SETTING, NULL, A, B), NULL);
	expect_listed(A ".json pair0 setting");
	follow(NULL, kept_of("pair0", KEPT_SETTING, NULL, A, B));
	expect_listed("");
	save(kept_of("pair0", KEPT_ASKED, NULL, A, B));
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
