/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unified diff of two texts, line by line. */
#pragma once

#include <stddef.h>

#define TEXT_DIFF_CONTEXT 3

/*
 * Hunks with three lines of context, headed by "--- before" and "+++ after"; "" when equal. The
 * shortest script is found for up to a thousand changed lines; texts further apart than that are
 * shown as one replaced block. NULL when memory is out.
 */
char *text_diff(const char *before, const char *after);

/* A line that is compared by one text and shown as another: as one that differs, or beside it. */
typedef struct DiffLine {
	char *key;
	char *changed;
	char *beside;
} DiffLine;

typedef struct DiffLines {
	DiffLine *items;
	size_t n_items;
} DiffLines;

/* -E2BIG when they are further apart than that, because too much would be shown. */
int text_diff_lines(const DiffLines *before, const DiffLines *after, char **ret);
void diff_lines_clear(DiffLines *lines);
