/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "rig/garbage.h"
#include "util/json.h"
#include "util/text.h"

#define SCHEMA "org.gpupass1.test/1"
#define GOOD "{\"schema\": \"" SCHEMA "\", \"list\": [\"a\", \"b\"], \"n\": 7}"

static json_t *parse(const char *text)
{
	_cleanup_free_ char *message = NULL;
	json_t *json = NULL;

	if (json_parse_document(text, strlen(text), SCHEMA, &json, &message) < 0)
		fail_msg("not parsed: %s", message);
	return json;
}

TEST(documents_of_another_kind_are_told_from_what_is_no_json)
{
	static const struct {
		const char *text;
		int result;
		const char *message;
	} rows[] = {
		{ "", -EBADMSG, "line 1: " },
		{ "{", -EBADMSG, "line 1: " },
		{ "\n\n{\"a\": }", -EBADMSG, "line 3: " },
		{ GOOD " x", -EBADMSG, "line 1: " },
		{ "{\"a\": 1, \"a\": 2}", -EBADMSG, "line 1: duplicate" },
		{ "{}", -EPROTO, "its schema is missing, not " SCHEMA },
		{ "[]", -EPROTO, "its schema is missing" },
		{ "{\"schema\": 1}", -EPROTO, "its schema is missing" },
		{ "{\"schema\": \"org.gpupass1.test/2\"}", -EPROTO,
		  "its schema is org.gpupass1.test/2, not " SCHEMA },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *message = NULL;
		json_t *json = NULL;
		int r = json_parse_document(rows[i].text, strlen(rows[i].text), SCHEMA, &json,
					    &message);

		if (r != rows[i].result || json || !str_starts_with(message, rows[i].message))
			fail_msg("row %zu: %d, %s", i, r, str_or_empty(message));
		assert_int_equal(json_parse_document(rows[i].text, strlen(rows[i].text), SCHEMA,
						     &json, NULL),
				 r);
	}
}

static bool parses(const char *text, size_t size)
{
	_cleanup_free_ char *message = NULL;
	_cleanup_json_ json_t *json = NULL;

	return json_parse_document(text, size, SCHEMA, &json, &message) == 0;
}

TEST(damaged_documents_are_refused)
{
	assert_true(parses(GOOD, strlen(GOOD)));
	garbage_truncations_are_refused(GOOD, parses);
	garbage_changed_bytes_are_survived(GOOD, parses);
	/* A NUL ends no document. */
	assert_false(parses(GOOD "\0x", strlen(GOOD) + 2));
}

TEST(members_are_read_by_type_and_range)
{
	_cleanup_json_ json_t *json =
		parse("{\"schema\": \"" SCHEMA "\", \"s\": \"text\", \"n\": 7, \"neg\": -7,"
		      " \"b\": true, \"real\": 1.5, \"null\": null, \"list\": [\"a\", \"b\"],"
		      " \"mixed\": [\"a\", 1], \"empty\": []}");
	static const struct {
		const char *key;
		unsigned long long max;
		int text, number, truth, list;
	} rows[] = {
		{ "absent", 9, -ENOENT, -ENOENT, -ENOENT, -ENOENT },
		{ "s", 9, 0, -EBADMSG, -EBADMSG, -EBADMSG },
		{ "n", 6, -EBADMSG, -EBADMSG, -EBADMSG, -EBADMSG },
		{ "n", 7, -EBADMSG, 0, -EBADMSG, -EBADMSG },
		{ "neg", 9, -EBADMSG, -EBADMSG, -EBADMSG, -EBADMSG },
		{ "real", 9, -EBADMSG, -EBADMSG, -EBADMSG, -EBADMSG },
		{ "null", 9, -EBADMSG, -EBADMSG, -EBADMSG, -EBADMSG },
		{ "b", 9, -EBADMSG, -EBADMSG, 0, -EBADMSG },
		{ "mixed", 9, -EBADMSG, -EBADMSG, -EBADMSG, -EBADMSG },
		{ "list", 9, -EBADMSG, -EBADMSG, -EBADMSG, 0 },
		{ "empty", 9, -EBADMSG, -EBADMSG, -EBADMSG, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **list = NULL;
		_cleanup_free_ char *joined = NULL;
		unsigned long long number = 99;
		const char *text = NULL;
		bool truth = false;

		if (json_get_string(json, rows[i].key, &text) != rows[i].text ||
		    json_get_unsigned(json, rows[i].key, rows[i].max, &number) != rows[i].number ||
		    json_get_bool(json, rows[i].key, &truth) != rows[i].truth ||
		    json_get_strv(json, rows[i].key, &list) != rows[i].list)
			fail_msg("%s", rows[i].key);
		/* What is not read stays as it is. */
		assert_true(str_equal(text, rows[i].text == 0 ? "text" : NULL));
		assert_int_equal(number, rows[i].number == 0 ? 7 : 99);
		assert_int_equal(truth, rows[i].truth == 0);
		joined = strv_join(list, "+");
		assert_string_equal(joined, str_equal(rows[i].key, "list") ? "a+b" : "");
	}
}

TEST(lists_and_missing_strings_are_written)
{
	char *good[] = { (char *)"a", (char *)"b", NULL }, *bad[] = { (char *)"\xff", NULL };
	_cleanup_json_ json_t *list = json_strv(good), *empty = json_strv(NULL),
			      *odd = json_strv(bad);
	_cleanup_json_ json_t *text = json_string_or_null("x"), *null = json_string_or_null(NULL);

	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_array_get(list, 1)), "b");
	assert_true(json_is_array(empty));
	assert_int_equal(json_array_size(empty), 0);
	assert_string_equal(json_string_value(json_array_get(odd, 0)), "?");
	assert_string_equal(json_string_value(text), "x");
	assert_true(json_is_null(null));
}
