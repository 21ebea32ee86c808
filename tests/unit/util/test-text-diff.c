/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <stdio.h>
#include <string.h>

#include "gpupass/cleanup.h"
#include "rig/text-diff.h"

TEST(diff_shows_changes_with_three_lines_around)
{
	static const struct {
		const char *before, *after, *diff;
	} rows[] = {
		{ "", "", "" },
		{ "a\nb\n", "a\nb\n", "" },
		{ "", "a\n", "--- before\n+++ after\n@@ -0,0 +1 @@\n+a\n" },
		{ "a\n", "", "--- before\n+++ after\n@@ -1 +0,0 @@\n-a\n" },
		{ "a\n", "b\n", "--- before\n+++ after\n@@ -1 +1 @@\n-a\n+b\n" },
		{ "1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n",
		  "--- before\n+++ after\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n" },
		/* six lines between two changes: one hunk; seven: two */
		{ "a\n1\n2\n3\n4\n5\n6\nb\n", "1\n2\n3\n4\n5\n6\n",
		  "--- before\n+++ after\n@@ -1,8 +1,6 @@\n-a\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n" },
		{ "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "1\n2\n3\n4\n5\n6\n7\n",
		  "--- before\n+++ after\n@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n"
		  "@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-b\n" },
		/* a last line without its newline is a line */
		{ "a\nb", "a\nb\n", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *diff = text_diff(rows[i].before, rows[i].after);

		if (strcmp(diff, rows[i].diff) != 0)
			fail_msg("row %zu: got\n%s", i, diff);
	}
}

static const char *copy_line(const char *line, FILE *to)
{
	const char *end = strchr(line, '\n') + 1;

	if (to)
		fwrite(line, 1, (size_t)(end - line), to);
	return end;
}

/* What patch(1) does: the text after, from the text before and the hunks. */
static char *apply(const char *before, const char *diff)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	long at = 1;

	if (*diff)
		diff = strstr(diff, "@@");
	while (*diff) {
		long from = 0, n = 1;

		if (sscanf(diff, "@@ -%ld,%ld", &from, &n) < 2)
			sscanf(diff, "@@ -%ld", &from);
		for (; at < from + (n == 0); at++)
			before = copy_line(before, f);
		diff = copy_line(diff, NULL);
		while (*diff && *diff != '@') {
			char sign = *diff;

			if (sign != '+') {
				before = copy_line(before, sign == ' ' ? f : NULL);
				at++;
			}
			diff = copy_line(diff + 1, sign == '+' ? f : NULL);
		}
	}
	fputs(before, f);
	fclose(f);
	return text;
}

static char *random_text(uint32_t *seed, unsigned lines, unsigned letters)
{
	char *text = malloc(2 * lines + 1);

	for (unsigned i = 0; i < lines; i++) {
		*seed = *seed * 1664525 + 1013904223;
		text[2 * i] = (char)('a' + (*seed >> 16) % letters);
		text[2 * i + 1] = '\n';
	}
	text[2 * lines] = '\0';
	return text;
}

TEST(diff_leads_from_one_text_to_the_other)
{
	uint32_t seed = 7;

	for (unsigned i = 0; i < 400; i++) {
		_cleanup_free_ char *before = random_text(&seed, i % 23, 2 + i % 5);
		_cleanup_free_ char *after = random_text(&seed, i % 19, 2 + i % 5);
		_cleanup_free_ char *diff = text_diff(before, after);
		_cleanup_free_ char *patched = apply(before, diff);

		if (strcmp(patched, after) != 0)
			fail_msg("seed %u:\n%s", i, diff);
	}
}

TEST(texts_far_apart_have_no_diff)
{
	uint32_t seed = 11;
	_cleanup_free_ char *before = random_text(&seed, 3000, 3);
	_cleanup_free_ char *after = random_text(&seed, 3000, 26);
	_cleanup_(diff_lines_clear) DiffLines a = diff_lines_of(before), b = diff_lines_of(after);

	assert_null(text_diff_lines(&a, &b));
}
