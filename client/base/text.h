/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of the client: measuring, and the durations it reads and prints. */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"
#include "util/printable.h"
#include "util/text.h"

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

/* Of a NUMA node or an IOMMU group; "-" for none, which is negative. */
char *number_text(int32_t number);
/* A copy in lower case; ASCII only. */
char *text_lower(const char *s);

/* The kernel's form of a PCI address, of all that bdf_parse() takes. New; NULL: it is none. */
char *address_normalise(const char *text);

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
