/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of hosts: from -H, and from a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "hosts/names.h"

/* promise R1 */
static void names_that_reach_ssh_have_few_characters(_unused_ void **state)
{
	static const char *const good[] = {
		"a",
		"gpu01",
		"gpu01.example.com",
		"_gateway",
		"192.0.2.1",
		"root@gpu01",
		"first.last+x@corp.example@gpu01",
		"gpu01:22",
		"gpu01:65535",
		"root@gpu01:2222",
		"[::1]",
		"[fe80::1%eth0]",
		"root@[2001:db8::1]:2222",
		"gpu01/container",
		"gpu01:22/container-1",
	};
	static const char *const bad[] = {
		"",	   "-x",	 "-oProxyCommand=sh",
		"root@-x", "-l@a",	 "@a",
		"a@",	   "a b",	 "a\nb",
		"a\tb",	   "a;b",	 "$(id)",
		"`id`",	   "a|b",	 "a&b",
		"a'b",	   "a\"b",	 "a\\b",
		"a,b",	   "a:",	 "a:0",
		"a:65536", "a:99999999", "a:+22",
		"a:2 2",   "a:ssh",	 "a:22:22",
		"[::1",	   "[]",	 "[::1]x",
		"[-::1]",  "[::1]:",	 "a/",
		"a/-m",	   "a/b/c",	 "a/b c",
		"a=b",	   "a*",	 "~",
		"a#b",	   "\x1b[31m",	 "g\xc3\xbc",
		"a\xff",   "[a;b]",	 "root@[::1;x]",
		"%h",	   "a%b",	 "::1",
	};
	char longest[400];

	for (size_t i = 0; i < ELEMENTS(good); i++)
		if (!host_name_is_valid(good[i]))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		if (host_name_is_valid(bad[i]))
			fail_msg("'%s' is taken", bad[i]);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(host_name_is_valid(longest));
}

static void has_names(char *const *names, const char *expected)
{
	_cleanup_free_ char *joined = strv_join(names, " ");

	assert_string_equal(joined, expected);
}

static void a_list_keeps_its_order(_unused_ void **state)
{
	static const char *const lists[][2] = {
		{ "a", "a" },
		{ "b,a,c", "b a c" },
		{ "root@b,a:22,[::1]", "root@b a:22 [::1]" },
		{ "a,root@a,A", "a root@a A" },
	};

	for (size_t i = 0; i < ELEMENTS(lists); i++) {
		_cleanup_strv_ char **names = NULL;
		_cleanup_free_ char *why = NULL;

		assert_int_equal(host_names_parse(lists[i][0], &names, &why), 0);
		has_names(names, lists[i][1]);
	}
}

static void says(const char *why, const char *expected)
{
	assert_non_null(why);
	if (!strstr(why, expected))
		fail_msg("'%s' does not say '%s'", why, expected);
}

static void a_list_is_refused_as_a_whole(_unused_ void **state)
{
	static const char *const lists[][2] = {
		{ "", "a name is empty" },	  { ",", "a name is empty" },
		{ "a,", "a name is empty" },	  { ",a", "a name is empty" },
		{ "a,,b", "a name is empty" },	  { "a,b,a", "'a' is there twice" },
		{ "a,-b", "'-b' is no name" },	  { "a, b", "' b' is no name" },
		{ "a,\x1b[2J", "'\\x1b[2J' is" },
	};

	for (size_t i = 0; i < ELEMENTS(lists); i++) {
		_cleanup_free_ char *why = NULL;
		char **names = NULL;

		assert_int_equal(host_names_parse(lists[i][0], &names, &why), -EINVAL);
		assert_null(names);
		says(why, lists[i][1]);
	}
}

static void a_file_has_a_host_a_line(_unused_ void **state)
{
	static const char *const files[][2] = {
		{ "a\nb\n", "a b" },
		{ "a", "a" },
		{ "# rack 1\n\n  a  # by the door\r\n\tb\n#c\n", "a b" },
		{ "\n\n\nroot@b:22\n\n", "root@b:22" },
		{ "a#b\n", "a" },
	};

	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_strv_ char **names = NULL;
		_cleanup_free_ char *why = NULL;

		assert_int_equal(
			host_names_parse_file(files[i][0], strlen(files[i][0]), "f", &names, &why),
			0);
		has_names(names, files[i][1]);
	}
}

static void a_bad_line_is_named_by_file_and_number(_unused_ void **state)
{
	static const char *const files[][2] = {
		{ "", "f names no host" },
		{ "# nobody\n \n", "f names no host" },
		{ "a\n\nb c\n", "f:3: 'b c' is no name of a host" },
		{ "a\n-oProxyCommand=x\n", "f:2: '-oProxyCommand=x' is no name" },
		{ "a\nb\n#\na\n", "f:4: 'a' is there twice" },
		{ "a,b\n", "f:1: 'a,b' is no name" },
		{ "\xef\xbb\xbf"
		  "a\n",
		  "f:1: " },
	};

	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_free_ char *why = NULL;
		char **names = NULL;

		assert_int_equal(
			host_names_parse_file(files[i][0], strlen(files[i][0]), "f", &names, &why),
			-EINVAL);
		assert_null(names);
		says(why, files[i][1]);
	}
}

static void a_nul_makes_it_no_text(_unused_ void **state)
{
	_cleanup_free_ char *why = NULL;
	char **names = NULL;

	assert_int_equal(host_names_parse_file("a\0b\n", 4, "f", &names, &why), -EINVAL);
	says(why, "NUL");
}

/* n names: h0, h1, … */
static char *many(size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < n; i++)
		fprintf(f, "h%zu\n", i);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void there_is_a_largest_number(_unused_ void **state)
{
	_cleanup_free_ char *most = many(HOSTS_MAX), *more = many(HOSTS_MAX + 1), *why = NULL;
	_cleanup_strv_ char **names = NULL;
	char **none = NULL;

	assert_int_equal(host_names_parse_file(most, strlen(most), "f", &names, &why), 0);
	assert_int_equal(strv_length(names), HOSTS_MAX);
	assert_int_equal(host_names_parse_file(more, strlen(more), "f", &none, &why), -EINVAL);
	says(why, "f:1025: there are more than 1024 hosts");
}

static void a_file_that_is_too_large_or_not_there_is_refused(_unused_ void **state)
{
	_cleanup_free_ char *why = NULL;
	char **names = NULL;

	assert_int_equal(host_names_read("/nonexistent/hosts", &names, &why), -ENOENT);
	assert_int_equal(host_names_read("/", &names, &why), -EISDIR);
	assert_int_equal(host_names_read("/dev/zero", &names, &why), -EINVAL);
	says(why, "/dev/zero is larger than 256 KiB");
	assert_null(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_reach_ssh_have_few_characters),
		cmocka_unit_test(a_list_keeps_its_order),
		cmocka_unit_test(a_list_is_refused_as_a_whole),
		cmocka_unit_test(a_file_has_a_host_a_line),
		cmocka_unit_test(a_bad_line_is_named_by_file_and_number),
		cmocka_unit_test(a_nul_makes_it_no_text),
		cmocka_unit_test(there_is_a_largest_number),
		cmocka_unit_test(a_file_that_is_too_large_or_not_there_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
