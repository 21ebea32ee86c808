/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a log: texts with parts that others chose, such as the names of domains and processes. */
#pragma once

/*
 * gpupass/printable.h: control and format characters, blanks but the space, a combining mark that
 * has nothing to combine with, and bytes that are not UTF-8, become \x1b, \u202e. Line feeds stay.
 * NULL when out of memory.
 */
char *text_printable(const char *text);
