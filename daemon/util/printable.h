/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts in which others had a part, such as the names of domains and processes, for a log. */
#pragma once

/*
 * A copy without what would command a terminal or turn the direction of text: such characters, and
 * bytes that are no UTF-8, become \x1b, \u202e. Line feeds and tabs stay. NULL when memory is out.
 */
char *text_printable(const char *text);
