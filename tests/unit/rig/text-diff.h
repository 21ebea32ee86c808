/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between two texts, line by line, for who reads a failure. */
#pragma once

#include "util/grow.h"
#include "util/text-diff.h"
#include "util/text.h"

static DiffLines diff_lines_of(const char *text)
{
	DiffLines lines = { 0 };

	while (*text) {
		size_t n = strcspn(text, "\n");
		DiffLine *line = GROW(lines.items, lines.n_items);

		line->key = xstrndup(text, n);
		line->changed = xstrdup(line->key);
		line->beside = xstrdup(line->key);
		text += n + (text[n] == '\n');
	}
	return lines;
}

static inline _unused_ char *text_diff(const char *before, const char *after)
{
	_cleanup_(diff_lines_clear) DiffLines a = diff_lines_of(before), b = diff_lines_of(after);
	char *diff = text_diff_lines(&a, &b);

	return diff ? diff : xstrdup("they differ in more lines than are shown\n");
}
