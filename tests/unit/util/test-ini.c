/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "util/ini.h"
#include "util/text.h"

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define NINETY_SIX TEN TEN TEN TEN TEN TEN TEN TEN TEN "012345"

/* What was called, and what a key called "stop" returns. */
typedef struct Seen {
	char **calls;
	int stop;
} Seen;

static int on_section(const char *name, int line, void *userdata)
{
	Seen *seen = userdata;

	strv_appendf(&seen->calls, "%d:[%s]", line, name);
	return str_equal(name, "stop") ? seen->stop : 0;
}

static int on_entry(const char *section, const char *key, const char *value, int line,
		    void *userdata)
{
	Seen *seen = userdata;

	strv_appendf(&seen->calls, "%d:%s.%s=%s", line, section, key, value);
	return str_equal(key, "stop") ? seen->stop : 0;
}

static int on_malformed(int line, void *userdata)
{
	Seen *seen = userdata;

	strv_appendf(&seen->calls, "%d:malformed", line);
	return 2;
}

static int on_too_long(int line, int max, void *userdata)
{
	Seen *seen = userdata;

	strv_appendf(&seen->calls, "%d:longer than %d", line, max);
	return 3;
}

static const IniHandler handler = { on_section, on_entry, on_malformed, on_too_long };

static void check_by(const IniHandler *with, const char *text, int stop, int result,
		     const char *calls)
{
	Seen seen = { .stop = stop };
	int r = ini_text_parse(text, with, &seen);
	_cleanup_free_ char *joined = strv_join(seen.calls, " ");

	if (r != result || !str_equal(joined, calls))
		fail_msg("'%.40s': %d, %s", text, r, joined);
	strv_free(seen.calls);
}

static void check(const char *text, int result, const char *calls)
{
	check_by(&handler, text, 7, result, calls);
}

TEST(every_line_is_seen_with_its_number)
{
	check("", 0, "");
	check("\n\n# a\n; b\n", 0, "");
	check("[A]\nk=v\n", 0, "1:[A] 2:A.k=v");
	check("[A]\nk=v", 0, "1:[A] 2:A.k=v");
	check("k=v\n", 0, "1:.k=v");
	check("[A]\r\nk = v w \r\n\r\n[B]\r\nk:v\r\n", 0, "1:[A] 2:A.k=v w 4:[B] 5:B.k=v");
	/* without a key, twice, with a comment behind */
	check("[A]\n[B] # x\n[A]\nk=v ; x\n", 0, "1:[A] 2:[B] 3:[A] 4:A.k=v");
	check("[A]\nk=\n", 0, "1:[A] 2:A.k=");
}

TEST(an_indented_line_is_a_line_of_its_own)
{
	check("[A]\nk=v\n  l=w\n\tm=x\n", 0, "1:[A] 2:A.k=v 3:A.l=w 4:A.m=x");
	check("[A]\nk=v\n  more\n", 2, "1:[A] 2:A.k=v 3:malformed");
}

TEST(a_byte_order_mark_is_no_part_of_the_text)
{
	check("\xef\xbb\xbf[A]\nk=v\n", 0, "1:[A] 2:A.k=v");
	check("\xef\xbb\xbf", 0, "");
}

TEST(a_line_is_refused_when_too_long_and_not_cut_in_two)
{
	/* of 198 bytes, with and without a newline, and of more */
	check("k=" NINETY_SIX HUNDRED "\n", 0, "1:.k=" NINETY_SIX HUNDRED);
	check("k=" NINETY_SIX HUNDRED, 0, "1:.k=" NINETY_SIX HUNDRED);
	check("[A]\nk=" NINETY_SIX HUNDRED "7\nl=w\n", 3, "1:[A] 2:longer than 198");
	check("[A]\nk=" NINETY_SIX HUNDRED "7", 3, "1:[A] 2:longer than 198");
	check("[A]\nk=" HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED "\n", 3, "1:[A] 2:longer than 198");
	/* also a comment, and a section's name */
	check("#" HUNDRED HUNDRED "\n", 3, "1:longer than 198");
	check("[" HUNDRED HUNDRED "]\n", 3, "1:longer than 198");
	check("[" HUNDRED "]\n", 0, "1:[" HUNDRED "]");
}

TEST(what_is_neither_section_nor_entry_is_malformed)
{
	check("nonsense\n", 2, "1:malformed");
	check("[A\nk=v\n", 2, "2:.k=v 1:malformed");
	check("[A]\nx\nk=v\ny\n", 2, "1:[A] 3:A.k=v 2:malformed");
}

TEST(the_first_refusal_ends_the_text)
{
	check("[A]\nstop=1\nk=v\n", 7, "1:[A] 2:A.stop=1");
	check("[A]\n[stop]\nk=v\n", 7, "1:[A] 2:[stop]");
	/* of two mistakes the one further up */
	check("[A]\nx\nstop=1\n", 2, "1:[A] 3:A.stop=1 2:malformed");
	check("[A]\nstop=1\nx\n", 7, "1:[A] 2:A.stop=1");
}

TEST(sections_may_go_unheard)
{
	static const IniHandler deaf = { NULL, on_entry, on_malformed, on_too_long };

	check_by(&deaf, "[A]\nk=v\n[B]\nk=v\n", 0, 0, "2:A.k=v 4:B.k=v");
}
