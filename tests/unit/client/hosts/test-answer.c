/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the process of a host tells, and what becomes of anything else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "hosts/answer.h"

#define DISCONNECTED "org.freedesktop.DBus.Error.Disconnected"

static const CrewPlan plan = { .limit_usec = 10 * UINT64_C(1000000),
			       .out_max = 4U << 20,
			       .all_max = 128U << 20 };

/* As if it had said this, and ended. */
static CrewResult said(const char *out, const char *err)
{
	return (CrewResult){ .out = (char *)out,
			     .out_size = strlen(out),
			     .err = (char *)err,
			     .err_size = err ? strlen(err) : 0 };
}

static HostAnswer read_it(CrewResult result)
{
	HostAnswer answer;

	assert_int_equal(answer_read("gpu01", "list", &result, &plan, false, &answer), 0);
	return answer;
}

static char *text_of(int fd)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text));

	assert_true(n >= 0);
	return strndup(text, (size_t)n);
}

static void what_is_written_reads_as_the_same(_unused_ void **state)
{
	_cleanup_(answer_clear) HostAnswer a = { 0 }, b = { 0 }, c = { 0 };
	_cleanup_(json_decrefp) json_t *document = json_pack("{s:s}", "schema", "x");
	_cleanup_(failure_freep) Failure *failure =
		failure_new("org.gpupass1.Error.NoSuchGroup", GPUPASS_EXIT_NOT_FOUND,
			    "there is none\nRemedy: see");
	_cleanup_free_ char *one = NULL, *two = NULL, *three = NULL;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(answer_write(ends[1], 1, document, "", ""), 0);
	one = text_of(ends[0]);
	assert_int_equal(answer_write(ends[1], 0, NULL, "two\nlines", "Note: x\n"), 0);
	two = text_of(ends[0]);
	assert_int_equal(answer_write_failure(ends[1], failure), 0);
	three = text_of(ends[0]);
	close(ends[0]);
	close(ends[1]);

	a = read_it(said(one, NULL));
	assert_true(a.reached && a.code == 1 && !a.failure);
	assert_true(json_equal(a.document, document));
	b = read_it(said(two, "ssh: a banner"));
	assert_true(b.reached && b.code == 0 && !b.failure && !b.document);
	assert_string_equal(b.text, "two\nlines");
	assert_string_equal(b.notes, "Note: x\n");
	c = read_it(said(three, "ssh: a banner"));
	assert_true(c.reached);
	assert_int_equal(c.code, GPUPASS_EXIT_NOT_FOUND);
	assert_string_equal(c.failure->name, failure->name);
	assert_string_equal(c.failure->message, failure->message);
}

#define GOOD_REST "\"text\":\"\",\"notes\":\"\""

/* promise R2 */
static void anything_else_is_a_failure(_unused_ void **state)
{
	static const char *const wrong[] = {
		"rubbish",
		"{",
		"[]",
		"null",
		"{}",
		"{\"exit\":0,\"document\":null," GOOD_REST "} {}",
		"{\"exit\":0,\"document\":null," GOOD_REST ",\"more\":1}",
		"{\"exit\":0,\"document\":null,\"text\":\"\"}",
		"{\"exit\":0,\"document\":[]," GOOD_REST "}",
		"{\"exit\":0,\"document\":7," GOOD_REST "}",
		"{\"exit\":\"0\",\"document\":null," GOOD_REST "}",
		"{\"exit\":-1,\"document\":null," GOOD_REST "}",
		"{\"exit\":256,\"document\":null," GOOD_REST "}",
		"{\"exit\":0,\"exit\":1,\"document\":null," GOOD_REST "}",
		"{\"exit\":0,\"document\":null,\"text\":null,\"notes\":\"\"}",
		"{\"exit\":0,\"document\":null,\"text\":\"a\\u0000b\",\"notes\":\"\"}",
		"{\"exit\":7,\"error\":7,\"message\":\"\"}",
		"{\"exit\":7,\"error\":\"x\"}",
		"{\"exit\":0,\"error\":\"x\",\"message\":\"y\"}",
		"{\"exit\":999,\"error\":\"x\",\"message\":\"y\"}",
	};

	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		_cleanup_(answer_clear) HostAnswer a = read_it(said(wrong[i], NULL));

		if (a.reached || !a.failure || a.document || a.text || a.code != 7)
			fail_msg("taken: %s", wrong[i]);
		assert_non_null(strstr(a.failure->message, "gpu01 cannot be used"));
	}
}

static void what_did_not_end_well_says_why(_unused_ void **state)
{
	static const struct {
		int error, status;
		const char *err, *says;
	} rows[] = {
		{ -ETIMEDOUT, 0, NULL, "no answer within 10.00 s" },
		{ -ETIMEDOUT, 0, "one\nPermission denied (publickey).\n",
		  "no answer within 10.00 s: ssh says: Permission denied (publickey)." },
		{ -EFBIG, 0, NULL, "its answer is too large: more than 4 MiB" },
		{ -EAGAIN, 0, NULL, "no process could be started" },
		{ 0, -1, NULL, "ended early" },
		{ 0, 1, NULL, "ended early" },
		{ 0, 0, "x", "ended early" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		CrewResult result = said("", rows[i].err);
		_cleanup_(answer_clear) HostAnswer a = { 0 };
		_cleanup_free_ char *reason = NULL;

		result.error = rows[i].error;
		result.status = rows[i].status;
		a = read_it(result);
		assert_false(a.reached);
		assert_int_equal(a.code, GPUPASS_EXIT_NO_DAEMON);
		reason = answer_reason(&a);
		if (!str_starts_with(reason, rows[i].says) && !strstr(reason, rows[i].says))
			fail_msg("row %zu: %s", i, reason);
	}
}

static char *lost(const char *name)
{
	return strf("{\"exit\":7,\"error\":\"%s\",\"message\":\"cannot talk to gpupassd on "
		    "gpu01; does ssh to it work?\\nCause:  Connection reset by peer\\n"
		    "Remedy: x\"}",
		    name);
}

static void ssh_says_why_there_is_no_connection(_unused_ void **state)
{
	static const struct {
		const char *err, *says;
	} rows[] = {
		{ "ssh: connect to host gpu01 port 22: Connection refused\r\n",
		  "cannot talk to gpupassd: ssh says: ssh: connect to host gpu01 port 22: "
		  "Connection refused" },
		{ "Authorized use only!\nHost key verification failed.\n\n",
		  "cannot talk to gpupassd: ssh says: Host key verification failed." },
		{ "\x1b[2J\x1b]0;title\x07gone\n",
		  "cannot talk to gpupassd: ssh says: \\x1b[2J\\x1b]0;title\\x07gone" },
		{ NULL, "cannot talk to gpupassd: Connection reset by peer" },
		{ "\n \n", "cannot talk to gpupassd: Connection reset by peer" },
	};
	_cleanup_free_ char *out = lost(DISCONNECTED);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(answer_clear) HostAnswer a = read_it(said(out, rows[i].err));
		_cleanup_free_ char *reason = answer_reason(&a);

		assert_false(a.reached);
		assert_string_equal(reason, rows[i].says);
		assert_non_null(strstr(a.failure->message, "gpupass -H gpu01 list"));
	}
}

static void what_ssh_says_fits_into_json(_unused_ void **state)
{
	/* Without a locale, a character may be cut in two. */
	for (size_t blanks = 200; blanks < 250; blanks++) {
		_cleanup_free_ char *out = lost(DISCONNECTED);
		_cleanup_free_ char *err = strf("%*sx\xff%s", (int)blanks, "",
						"ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€ü€");
		_cleanup_(answer_clear) HostAnswer a = read_it(said(out, err));
		_cleanup_(json_decrefp) json_t *document = failure_json(a.failure, NULL);

		assert_non_null(document);
	}
}

static void a_daemon_that_does_not_run_is_no_fault_of_ssh(_unused_ void **state)
{
	_cleanup_(answer_clear) HostAnswer a =
		read_it(said("{\"exit\":7,\"error\":\"org.freedesktop.DBus.Error.ServiceUnknown\","
			     "\"message\":\"gpupassd is not running\\nRemedy: start it\"}",
			     "Authorized use only!\n"));
	_cleanup_free_ char *reason = answer_reason(&a);

	assert_false(a.reached);
	assert_string_equal(reason, "gpupassd is not running");
}

static void a_reason_is_one_line_and_has_an_end(_unused_ void **state)
{
	_cleanup_free_ char *long_text = malloc(100001), *out = NULL, *reason = NULL;
	_cleanup_(answer_clear) HostAnswer a = { 0 };

	memset(long_text, 'x', 100000);
	long_text[100000] = '\0';
	out = strf("{\"exit\":8,\"error\":\"e\",\"message\":\"\\u001b[2J%s\\nCause: y\"}",
		   long_text);
	a = read_it(said(out, NULL));
	reason = answer_reason(&a);
	assert_true(a.reached && strlen(reason) <= 400);
	assert_null(strpbrk(reason, "\n\033"));
}

static void only_colours_stay(_unused_ void **state)
{
	static const struct {
		const char *text, *coloured, *plain;
	} rows[] = {
		{ "a\tb\nc", "a\tb\nc", "a\tb\nc" },
		{ "\033[31mbad\033[0m", "\033[31mbad\033[0m", "\\x1b[31mbad\\x1b[0m" },
		{ "\033[1;31mx", "\033[1;31mx", "\\x1b[1;31mx" },
		{ "\033[2Jx", "\\x1b[2Jx", "\\x1b[2Jx" },
		{ "\033]0;t\007x", "\\x1b]0;t\\x07x", "\\x1b]0;t\\x07x" },
		{ "\033", "\\x1b", "\\x1b" },
		{ "\033\033[31m\033[", "\\x1b\033[31m\\x1b[", "\\x1b\\x1b[31m\\x1b[" },
		{ "\r\b\x9b", "\\x0d\\x08\\x9b", "\\x0d\\x08\\x9b" },
		{ "", "", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *coloured = answer_clean(rows[i].text, true);
		_cleanup_free_ char *plain = answer_clean(rows[i].text, false);

		assert_string_equal(coloured, rows[i].coloured);
		assert_string_equal(plain, rows[i].plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_as_the_same),
		cmocka_unit_test(anything_else_is_a_failure),
		cmocka_unit_test(what_did_not_end_well_says_why),
		cmocka_unit_test(ssh_says_why_there_is_no_connection),
		cmocka_unit_test(what_ssh_says_fits_into_json),
		cmocka_unit_test(a_daemon_that_does_not_run_is_no_fault_of_ssh),
		cmocka_unit_test(a_reason_is_one_line_and_has_an_end),
		cmocka_unit_test(only_colours_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
