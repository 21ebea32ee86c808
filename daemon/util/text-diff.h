/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unified diff of two texts, line by line. */
#pragma once

#include "gpupass/cleanup.h"

/*
 * A line with one text for comparison, and others to show: as a changed line, or as context. A line
 * that was only moved, and so is taken out in one place and added in another, is shown as context.
 */
typedef struct DiffLine {
	char *key;
	char *changed;
	char *beside;
} DiffLine;

typedef struct DiffLines {
	DiffLine *items;
	size_t n_items;
} DiffLines;
DECLARE_CLEAR(DiffLines, diff_lines_clear)

/*
 * Hunks with three lines of context, headed by "--- before" and "+++ after"; "" when equal. It is
 * the shortest script; NULL when that has more than a thousand changed lines, because too much
 * would be shown.
 */
char *text_diff_lines(const DiffLines *before, const DiffLines *after);
