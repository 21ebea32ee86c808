/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is recognised in a state file that cannot be read. */
#include "rig/test.h"

#include <string.h>

#include "core/facts/assignment.h"
#include "core/facts/remains.h"
#include "util/text.h"

#define UUID "0f8f2f0e-3a4b-4c5d-8e9f-112233445566"

static char *found(const Remains *remains)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < remains->n_functions; i++)
		strv_append(&addresses, BDF_TEXT(&remains->functions[i]));
	return strv_join(addresses, " ");
}

TEST(addresses_are_recognised_in_damaged_bytes)
{
	static const struct {
		const char *text, *found;
	} rows[] = {
		{ "", "" },
		{ "{\"functions\": [\"0000:41:00.0\", \"0000:41:00.1\", \"0000:6",
		  "0000:41:00.0 0000:41:00.1" },
		{ "x0000:41:00.0\"", "0000:41:00.0" },
		{ "10000:e1:00.0\n10000:e1:00.0", "10000:e1:00.0" },
		/* No segment, no function, a part of something longer: a time, a checksum. */
		{ "41:00.0 0000:41:00 0000:41:00.01 10:0000:41:00.0 12:30:01.5", "" },
		{ "0000:41:20.0 0000:41:00.8", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *is = NULL;
		_cleanup_(remains_clear) Remains remains =
			remains_scan(rows[i].text, strlen(rows[i].text));

		is = found(&remains);
		if (!str_equal(is, rows[i].found))
			fail_msg("row %zu: \"%s\"", i, is);
	}
}

TEST(bytes_are_not_read_beyond_their_end)
{
	static const char text[] = "0000:41:00.00000:61:00.0";
	_cleanup_free_ char *is = NULL;
	_cleanup_(remains_clear) Remains remains = remains_scan(text, strlen("0000:41:00.0"));

	is = found(&remains);
	assert_string_equal(is, "0000:41:00.0");
}

/* More than a group has are those of the whole host: it is not known which of them are meant. */
TEST(too_many_are_as_good_as_none)
{
	_cleanup_(remains_clear) Remains remains = { 0 };
	_cleanup_strv_ char **all = NULL;
	_cleanup_free_ char *text = NULL;

	for (unsigned i = 0; i <= REMAINS_FUNCTIONS_MAX; i++)
		strv_appendf(&all, "0000:%02x:00.0", i);
	text = strv_join(all, " ");
	remains = remains_scan(text, strlen(text));
	assert_int_equal(remains.n_functions, 0);
}

TEST(a_newer_document_is_read_where_each_function_can_be)
{
	static const struct {
		const char *functions, *found;
	} rows[] = {
		{ "[\"0000:41:00.0\", \"0000:61:00.0\"]", "0000:41:00.0 0000:61:00.0" },
		{ "[{\"bdf\": \"0000:41:00.0\", \"more\": 1}, {\"address\": \"0000:61:00.0\"}]",
		  "0000:41:00.0 0000:61:00.0" },
		/* One that is not known might be any. */
		{ "[\"0000:41:00.0\", {\"at\": 7}]", "" },
		{ "[\"0000:41:00.0\", \"all\"]", "" },
		{ "[]", "" },
		{ "{\"first\": \"0000:41:00.0\"}", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(remains_clear) Remains remains = { 0 };
		_cleanup_free_ char *is = NULL;
		_cleanup_free_ char *text =
			strf("{\"schema\": \"a/9\", \"group\": \"pair0\", \"domain_uuid\": \"" UUID
			     "\", \"functions\": %s}",
			     rows[i].functions);

		assert_int_equal(remains_of_document(text, strlen(text), "a/", &remains), 0);
		is = found(&remains);
		if (!str_equal(is, rows[i].found))
			fail_msg("row %zu: \"%s\"", i, is);
		assert_string_equal(remains.group, "pair0");
		assert_string_equal(remains.domain_uuid, UUID);
		assert_int_equal(remains_of_document(text, strlen(text), "b/", &remains), -EBADMSG);
	}
}

TEST(an_unread_assignment_keeps_boards_and_domain_apart_or_everything)
{
	static const Bdf audio = { 0, 0x41, 0, 1 }, other = { 0, 0x61, 0, 0 };
	static const char torn[] = "{\"functions\": [{\"bdf\": \"0000:41:00.0\"";
	_cleanup_(assignments_freep) Assignments *all = calloc(1, sizeof(Assignments));

	assert_non_null(all);
	assert_null(assignments_fence(all, &audio, 1, UUID));
	assignments_add_fence(all, UUID ".json.damaged", -EBADMSG, NULL, torn, strlen(torn));
	assert_non_null(assignments_fence(all, &audio, 1, NULL));
	assert_non_null(assignments_fence(all, &other, 1, UUID));
	assert_null(assignments_fence(all, &other, 1, NULL));
	/* Of which nothing is known. */
	assignments_add_fence(all, "\xff.json", -EIO, NULL, NULL, 0);
	assert_string_equal(all->fences[1].file, "?.json");
	assert_ptr_equal(assignments_fence(all, &other, 1, NULL), &all->fences[1]);
	assert_ptr_equal(assignments_fence(all, &audio, 1, NULL), &all->fences[0]);
	assert_false(assignment_fence_is_about(&all->fences[1], &other, 1, UUID));
}
