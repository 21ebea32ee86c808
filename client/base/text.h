/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of the client: making, cleaning, measuring, and the durations it reads and prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpupass/cleanup.h"

/* A new formatted string, or NULL when out of memory. */
char *strf(const char *format, ...) _printf_(1, 2);
/* Writes all of it to the file. -errno of write(2). */
int text_write(int fd, const char *text);
/* NULL and "" are the same: nothing. */
bool str_is_empty(const char *s);
bool str_equal(const char *a, const char *b);
bool str_starts_with(const char *s, const char *prefix);

size_t strv_length(char *const *l);
/* Appends a copy; -ENOMEM leaves the list as it was. */
int strv_append(char ***l, const char *s);
bool strv_contains(char *const *l, const char *s);
/* "" for an empty list; NULL when out of memory. */
char *strv_join(char *const *l, const char *separator);
char **strv_free(char **l);
DEFINE_CLEANUP(char *, strv_free)
#define _cleanup_strv_ _cleanup_(strv_freep)

/*
 * A copy that is safe on a terminal (gpupass/printable.h): what is not plain is written as \n, \t,
 * \x1b, \u202e. What the daemon says comes in part from names that others choose (domains,
 * processes), and a terminal obeys what it is sent.
 */
char *text_printable(const char *s);
/* The same, but line feeds stay. */
char *text_printable_lines(const char *s);
/*
 * A copy in which characters that the locale does not have, or knows no width of, are written as
 * \xc3\xa4. For tables: smartcols pads without end for what has no width.
 */
char *text_in_locale(const char *s);

bool text_utf8_valid(const char *s);
/* Columns on a terminal, in the current locale. */
size_t text_width(const char *s);
/* A copy cut to `width` columns, ending in `ellipsis` where something was cut. */
char *text_cut(const char *s, size_t width, const char *ellipsis);

/* Edits (insert, delete, replace) that turn a into b; for "did you mean". */
size_t text_distance(const char *a, const char *b);

/* "12 ms", "1.03 s", "2 min 13 s" */
char *duration_format(uint64_t usec);
/* "90", "5s", "500ms", "2min", "1h": microseconds. -EINVAL, or -ERANGE for 0 and over a day. */
int duration_parse(const char *s, uint64_t *ret_usec);
/* Local time of a CLOCK_REALTIME stamp: "2026-01-31 14:02:11"; "-" for 0. */
char *time_format(uint64_t usec);
/*
 * A point in time, in microseconds since 1970: "2026-01-31 14:02:11" in local time, its seconds or
 * its time of day left out; "2h" or "7d", so long before now; "@1769864531", in seconds since 1970.
 * -EINVAL.
 */
int time_parse(const char *s, uint64_t now_usec, uint64_t *ret_usec);
/* "256 MiB", "32 GiB": sizes of address windows, which are powers of two. */
char *size_format(uint64_t bytes);
