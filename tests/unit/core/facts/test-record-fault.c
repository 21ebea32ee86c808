/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is recognised in a state file that cannot be read. */
#include "rig/test.h"

#include <errno.h>

#include "core/base/limits.h"
#include "core/facts/assignment.h"
#include "rig/rows.h"

#define UUID "0f8f2f0e-3a4b-4c5d-8e9f-112233445566"

static const RecordKind kind = { .folder = "quarantine", .apart = true, .of_group = true };

/* The only fault of such a file. */
static RecordFaults fault_of(int error, const char *text, size_t size)
{
	RecordFaults all = { 0 };

	record_faults_add(&all, &kind, "x.json", error, NULL, text, size);
	return all;
}

static char *found(const RecordFaults *all)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < all->items[0].n_functions; i++)
		strv_append(&addresses, BDF_TEXT(&all->items[0].functions[i]));
	return strv_join(addresses, " ");
}

static char *found_in_damaged(const char *text)
{
	_cleanup_(record_faults_clear) RecordFaults all = fault_of(-EBADMSG, text, strlen(text));

	return found(&all);
}

static char *found_in_newer(const char *functions)
{
	_cleanup_free_ char *text = strf("{\"schema\": \"a/9\", \"group\": \"pair0\", "
					 "\"domain_uuid\": \"" UUID "\", \"functions\": %s}",
					 functions);
	_cleanup_(record_faults_clear) RecordFaults all = fault_of(-EPROTO, text, strlen(text));

	assert_string_equal(all.items[0].group, "pair0");
	assert_string_equal(all.items[0].domain_uuid, UUID);
	return found(&all);
}

TEST(addresses_are_recognised_in_damaged_bytes)
{
	static const TextRow rows[] = {
		{ "", "" },
		{ "{\"functions\": [\"0000:41:00.0\", \"0000:41:00.1\", \"0000:6",
		  "0000:41:00.0 0000:41:00.1" },
		{ "x0000:41:00.0\"", "0000:41:00.0" },
		{ "10000:e1:00.0\n10000:e1:00.0", "10000:e1:00.0" },
		/* No segment, no function, a part of something longer: a time, a checksum. */
		{ "41:00.0 0000:41:00 0000:41:00.01 10:0000:41:00.0 12:30:01.5", "" },
		{ "0000:41:20.0 0000:41:00.8", "" },
	};

	EXPECT_TEXTS(rows, found_in_damaged);
}

TEST(bytes_are_not_read_beyond_their_end)
{
	static const char text[] = "0000:41:00.00000:61:00.0";
	_cleanup_(record_faults_clear) RecordFaults all =
		fault_of(-EBADMSG, text, strlen("0000:41:00.0"));
	_cleanup_free_ char *is = found(&all);

	assert_string_equal(is, "0000:41:00.0");
}

/* More than a group has are those of the whole host: it is not known which of them are meant. */
TEST(too_many_are_as_good_as_none)
{
	_cleanup_strv_ char **all = NULL;
	_cleanup_free_ char *text = NULL, *is = NULL;

	for (unsigned i = 0; i <= GROUP_FUNCTIONS_MAX; i++)
		strv_appendf(&all, "0000:%02x:00.0", i);
	text = strv_join(all, " ");
	is = found_in_damaged(text);
	assert_string_equal(is, "");
}

TEST(a_newer_document_is_read_where_each_function_can_be)
{
	static const TextRow rows[] = {
		{ "[\"0000:41:00.0\", \"0000:61:00.0\"]", "0000:41:00.0 0000:61:00.0" },
		{ "[{\"bdf\": \"0000:41:00.0\", \"more\": 1}, {\"address\": \"0000:61:00.0\"}]",
		  "0000:41:00.0 0000:61:00.0" },
		/* One that is not known might be any. */
		{ "[\"0000:41:00.0\", {\"at\": 7}]", "" },
		{ "[\"0000:41:00.0\", \"all\"]", "" },
		{ "[]", "" },
		{ "{\"first\": \"0000:41:00.0\"}", "" },
	};

	EXPECT_TEXTS(rows, found_in_newer);
}

TEST(an_unread_assignment_keeps_boards_group_and_domain_apart_or_everything)
{
	static const Bdf audio = { 0, 0x41, 0, 1 }, other = { 0, 0x61, 0, 0 };
	static const char torn[] = "{\"functions\": [{\"bdf\": \"0000:41:00.0\"";
	static const char flipped[] = "{\"group\": \"pair7\", \"functions\": [\"0000:99:00.0\"]}";
	RecordFaults all = { 0 };
	_cleanup_free_ char *what = NULL;

	assert_null(record_faults_find(&all, &audio, 1, "pair7", UUID));
	record_faults_add(&all, &assignment_kind, UUID ".json.damaged", -EBADMSG, "torn", torn,
			  strlen(torn));
	assert_non_null(record_faults_find(&all, &audio, 1, NULL, NULL));
	assert_non_null(record_faults_find(&all, &other, 1, NULL, UUID));
	assert_null(record_faults_find(&all, &other, 1, "pair7", NULL));
	/* An address may be another by one digit: the group's name is not, too. */
	record_faults_add(&all, &assignment_kind, "x.json", -EBADMSG, "its checksum is wrong",
			  flipped, strlen(flipped));
	assert_ptr_equal(record_faults_find(&all, &other, 1, "pair7", NULL), &all.items[1]);
	/* Of which nothing is known. */
	record_faults_add(&all, &assignment_kind, "\xff.json", -EIO, NULL, NULL, 0);
	what = record_fault_what(&all.items[2]);
	assert_string_equal(what, "assignments.d/?.json cannot be read (Input/output error)");
	assert_ptr_equal(record_faults_find(&all, &other, 1, NULL, NULL), &all.items[2]);
	assert_ptr_equal(record_faults_find(&all, &audio, 1, NULL, NULL), &all.items[0]);
	assert_false(record_fault_is_about(&all.items[2], &other, 1, NULL, UUID));
	record_faults_clear(&all);
}
