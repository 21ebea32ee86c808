/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a log: texts with parts that others chose, such as the names of domains and processes. */
#pragma once

/*
 * A copy that can neither control a terminal nor turn the direction of text: such characters, and
 * bytes that are not UTF-8, become \x1b, \u202e. Line feeds and tabs stay. NULL when out of memory.
 */
char *text_printable(const char *text);
