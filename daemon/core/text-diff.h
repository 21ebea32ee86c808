/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unified diff of two texts, line by line. */
#pragma once

#define TEXT_DIFF_CONTEXT 3

/*
 * Hunks with three lines of context, headed by "--- before" and "+++ after"; "" when equal. The
 * shortest script is found for up to a thousand changed lines; texts further apart than that are
 * shown as one replaced block. NULL when memory is out.
 */
char *text_diff(const char *before, const char *after);
