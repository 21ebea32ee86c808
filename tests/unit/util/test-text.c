/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <limits.h>
#include <string.h>

#include "rig/rows.h"
#include "util/printable.h"
#include "util/text.h"

TEST(strings_are_equal_or_begin_or_end_with_another)
{
	char a[] = "x", b[] = "x";
	const struct {
		bool (*is)(const char *text, const char *part);
		const char *text, *part;
		bool result;
	} rows[] = {
		{ str_equal, a, b, true },
		{ str_equal, a, "xx", false },
		{ str_equal, a, NULL, false },
		{ str_equal, NULL, "", false },
		{ str_equal, NULL, NULL, true },
		{ str_starts_with, "serial:1", "serial:", true },
		{ str_starts_with, "x", "", true },
		{ str_starts_with, "x", "x", true },
		{ str_starts_with, "ser", "serial:", false },
		{ str_starts_with, "", "x", false },
		{ str_ends_with, "a.ko", ".ko", true },
		{ str_ends_with, ".ko", ".ko", true },
		{ str_ends_with, "x", "", true },
		{ str_ends_with, "ko", ".ko", false },
		{ str_ends_with, "a.ko.xz", ".ko", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].is(rows[i].text, rows[i].part) != rows[i].result)
			fail_msg("row %zu", i);
	assert_string_equal(str_or_empty(NULL), "");
	assert_string_equal(str_or_empty("x"), "x");
	assert_true(str_is_empty(NULL) && str_is_empty("") && !str_is_empty(" "));
}

static char *base_name(const char *path)
{
	return strdup(str_base_name(path));
}

static char *stripped(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	return strdup(str_strip(copy));
}

TEST(a_base_name_follows_the_last_slash_and_blanks_are_cut_off_both_ends)
{
	static const TextRow paths[] = {
		{ "/boot/vmlinuz", "vmlinuz" },
		{ "vmlinuz", "vmlinuz" },
		{ "/boot/", "" },
		{ "", "" },
	};
	static const TextRow blanks[] = {
		{ "", "" },   { " ", "" },	    { "\n\t \r", "" },
		{ "a", "a" }, { " a b \n", "a b" }, { "a\n\n", "a" },
	};

	EXPECT_TEXTS(paths, base_name);
	EXPECT_TEXTS(blanks, stripped);
}

TEST(numbers_are_whole_strings_within_bounds)
{
	static const struct {
		const char *text;
		int base;
		unsigned long long max;
		int result;
		unsigned long long number;
	} rows[] = {
		{ "0", 10, 0, 0, 0 },
		{ "42", 10, 42, 0, 42 },
		{ "42", 10, 41, -ERANGE, 0 },
		{ "0042", 10, 42, 0, 42 },
		{ "ff", 16, 255, 0, 255 },
		{ "FF", 16, 255, 0, 255 },
		{ "0x10", 16, 255, 0, 16 }, /* as sysfs writes ids */
		{ "0x10", 0, 255, 0, 16 },
		{ "010", 0, 255, 0, 8 },
		{ "0x10", 10, 255, -EINVAL, 0 },
		{ "18446744073709551615", 10, ULLONG_MAX, 0, ULLONG_MAX },
		{ "18446744073709551616", 10, ULLONG_MAX, -ERANGE, 0 },
		{ NULL, 10, 9, -EINVAL, 0 },
		{ "", 10, 9, -EINVAL, 0 },
		{ " 1", 10, 9, -EINVAL, 0 },
		{ "1 ", 10, 9, -EINVAL, 0 },
		{ "+1", 10, 9, -EINVAL, 0 },
		{ "-1", 10, ULLONG_MAX, -EINVAL, 0 },
		{ "1x", 10, 9, -EINVAL, 0 },
		{ "a", 10, 9, -EINVAL, 0 },
		{ "1.5", 10, 9, -EINVAL, 0 },
		{ "0x", 16, 9, -EINVAL, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		unsigned long long number = 4711;
		int r = str_to_unsigned(rows[i].text, rows[i].base, rows[i].max, &number);

		if (r != rows[i].result || number != (r == 0 ? rows[i].number : 4711))
			fail_msg("row %zu, '%s': %d, %llu", i, str_or_empty(rows[i].text), r,
				 number);
	}
}

TEST(lists_grow_and_keep_their_order)
{
	_cleanup_strv_ char **l = NULL, **copy = NULL, **none = NULL;

	assert_int_equal(strv_length(NULL), 0);
	assert_false(strv_contains(NULL, "x"));
	strv_append(&l, "a");
	strv_appendf(&l, "%s%d", "b", 1);
	assert_int_equal(strv_length(l), 2);
	assert_string_equal(l[0], "a");
	assert_string_equal(l[1], "b1");
	assert_null(l[2]);
	assert_true(strv_contains(l, "b1"));
	assert_false(strv_contains(l, "b"));
	strv_copy(l, &copy);
	assert_int_equal(strv_length(copy), 2);
	assert_ptr_not_equal(copy[1], l[1]);
	strv_copy(NULL, &none);
	assert_null(none);
	assert_null(strv_free(NULL));
}

TEST(splitting_drops_empty_parts_and_joining_puts_separators_between)
{
	static const struct {
		const char *text, *separators, *joined;
	} rows[] = {
		{ "", ",", "" },       { ",,", ",", "" },	 { "a", ",", "a" },
		{ "a,b", ",", "a+b" }, { ",a,,b,", ",", "a+b" }, { "a b\tc", " \t", "a+b+c" },
		{ "a b", "", "a b" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **l = NULL;
		_cleanup_free_ char *joined = NULL;

		strv_split(rows[i].text, rows[i].separators, &l);
		joined = strv_join(l, "+");
		if (!str_equal(joined, rows[i].joined))
			fail_msg("row %zu: %s", i, joined);
	}
}

TEST(times_are_written_in_utc_whatever_the_year)
{
	static const struct {
		uint64_t usec;
		const char *text;
	} rows[] = {
		{ 0, "-" },
		{ 1, "1970-01-01 00:00:00 UTC" },
		{ 1767323045999999, "2026-01-02 03:04:05 UTC" },
		{ 253402300800000000, "10000-01-01 00:00:00 UTC" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = utc_text(rows[i].usec);

		assert_string_equal(text, rows[i].text);
	}
	/* Whatever a file says, it is text, and bounded. */
	for (uint64_t usec = UINT64_MAX; usec > 0; usec /= 7) {
		_cleanup_free_ char *text = utc_text(usec);

		assert_in_range(strlen(text), 1, 32);
	}
}

TEST(what_commands_a_terminal_is_written_out)
{
	static const TextRow rows[] = {
		{ "", "" },
		{ "vm42", "vm42" },
		{ "a line\nand\tanother", "a line\nand\\tanother" },
		{ "\x1b[2J\r\x7f\a", "\\x1b[2J\\x0d\\x7f\\x07" },
		{ "\xc2\x9b"
		  "31m",
		  "\\x9b31m" },
		{ "\xe2\x80\xae\xe2\x81\xa6", "\\u202e\\u2066" },
		{ "\xe2\x80\xa8", "\\u2028" },
		/* Format characters: soft hyphen, word joiner, a tag, and so on. */
		{ "v\xc2\xadm\xe2\x81\xa0\xe2\x80\x8b", "v\\xadm\\u2060\\u200b" },
		{ "\xf3\xa0\x80\x81\xd8\x80\xef\xbb\xbf", "\\U000e0001\\u0600\\ufeff" },
		/* Blanks: no-break, ideographic, Ogham; and what looks like one. */
		{ "a\xc2\xa0\xe3\x80\x80\xe1\x9a\x80 b", "a\\xa0\\u3000\\u1680 b" },
		{ "\xe3\x85\xa4\xe2\xa0\x80\xe1\x85\x9f", "\\u3164\\u2800\\u115f" },
		/* Combining marks, with and without what they combine with. */
		{ "e\xcc\x81\xcc\xa3 \xe0\xa4\x95\xe0\xa4\xbf",
		  "e\xcc\x81\xcc\xa3 \xe0\xa4\x95\xe0\xa4\xbf" },
		{ "\xcc\x81\xcc\xa3vm", "\\u0301\\u0323vm" },
		{ "domain \xcc\xb8vm '\xe2\x83\x9d'\n\xcc\x81",
		  "domain \\u0338vm '\\u20dd'\n\\u0301" },
		{ "\xe2\x9d\xa4\xef\xb8\x8f", "\xe2\x9d\xa4\xef\xb8\x8f" },
		{ "\xc3\xa4 \xe2\x9c\x94 \xf0\x9f\x90\xa7",
		  "\xc3\xa4 \xe2\x9c\x94 \xf0\x9f\x90\xa7" },
		{ "\x9b"
		  "31m\xff",
		  "\\x9b31m\\xff" },	      /* no UTF-8 */
		{ "\xe2\x80", "\\xe2\\x80" }, /* cut off */
		{ "\xc0\x9b\xe0\x82\x9b",
		  "\\xc0\\x9b\\xe0\\x82\\x9b" },       /* longer than it must be */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	};

	EXPECT_TEXTS(rows, text_printable_lines);
}
