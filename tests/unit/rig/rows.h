/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of texts, as texts: a row a case. */
#pragma once

#include <string.h>

#include "gpupass/cleanup.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct TextRow {
	const char *text, *expected; /* NULL: nothing is read of it */
} TextRow;

#define EXPECT_TEXTS(rows, read) expect_texts(rows, ELEMENTS(rows), read)
static inline _unused_ void expect_texts(const TextRow *rows, size_t n, char *(*read)(const char *))
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *found = read(rows[i].text);

		if (!str_equal(found, rows[i].expected))
			fail_msg("%s: %s instead of %s", rows[i].text, str_or_empty(found),
				 str_or_empty(rows[i].expected));
	}
}

/* Each of the texts, which are parted by '|', is, or is not, what `is` says. */
static inline _unused_ void expect_each(const char *texts, bool (*is)(const char *), bool expected)
{
	_cleanup_strv_ char **list = NULL;

	strv_split(texts, "|", &list);
	for (char **text = list; *text; text++)
		if (is(*text) != expected)
			fail_msg("%s is%s", *text, expected ? " not" : "");
}

/* `text` n times. */
static inline _unused_ char *repeated(const char *text, size_t n)
{
	size_t size = strlen(text);
	char *all = xcalloc(1, size * n + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(all + size * i, text, size);
	return all;
}
