/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parsers of bandwidths share. */
#pragma once

#include "core/verify/bandwidth.h"

#define BANDWIDTH_WORDS_MAX (BANDWIDTH_GPUS_MAX + 2)

/* Splits a line at blanks, in place. The number of words; -EBADMSG when there are too many. */
int bandwidth_words(char *line, char *words[BANDWIDTH_WORDS_MAX]);
/* "276.07", of GB/s, in MB/s. Digits beyond the third after the point are cut off. */
int bandwidth_rate(const char *text, uint32_t *ret);

/*
 * A table as nvbandwidth and p2pBandwidthLatencyTest print it: a line of column numbers, then a
 * line for each row, which begins with its number.
 */
typedef struct BandwidthTable {
	bool open;     /* the line of column numbers was read */
	size_t n_gpus; /* columns */
	size_t n_rows; /* read so far */
	uint32_t cells[BANDWIDTH_GPUS_MAX][BANDWIDTH_GPUS_MAX]; /* 0: "N/A" */
} BandwidthTable;

/* Its first word is a number, or the corner: it is no line of another program. */
bool bandwidth_is_row(const char *line, const char *corner);
/* Reads the next line of a table. `corner` is the word before the column numbers; NULL: none. */
int bandwidth_table_line(BandwidthTable *table, const char *corner, char *line);
/* It has all its rows. */
bool bandwidth_table_whole(const BandwidthTable *table);

/* Notes the address of the next GPU; NULL: it was not told. */
int bandwidth_add_gpu(Bandwidth *into, const Bdf *address);
