/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts with parts that others chose, such as the names of domains and processes. */
#pragma once

/*
 * A copy that is safe on a terminal and in a log, whatever the locale: what is not plain, and bytes
 * that are not UTF-8, are written as \n, \t, \x1b, \u202e. A terminal obeys what it is sent.
 */
char *text_printable(const char *text);
/* The same, but line feeds stay. */
char *text_printable_lines(const char *text);
