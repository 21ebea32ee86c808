/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables whose columns and order the caller of gpupass may choose: -o and --sort.
 *
 * The name of a column is its heading and what -o takes, in any case. Scripts use these names: they
 * stay.
 */
#pragma once

#include "base/client.h"
#include "base/table.h"

typedef struct ColumnKind {
	const char *name;
	char *(*text)(const void *row);	     /* new; "-" for nothing */
	uint64_t (*number)(const void *row); /* what --sort goes by; NULL: by the text */
	size_t minimum; /* it may be cut to so many columns, where the terminal is too narrow; 0: not */
	unsigned flags; /* ColumnFlags; COLUMN_LINES: on a narrow terminal one item a line */
	bool usual;	/* printed when -o is not given */
	bool spare;	/* and left out where rows are too wide even when they are cut */
} ColumnKind;

typedef struct ColumnChoice {
	const ColumnKind *kinds;
	size_t n_kinds;
	const ColumnKind **chosen;
	size_t n_chosen;
	const ColumnKind *sort; /* NULL: in the order of the rows */
	bool descending;
	bool plain; /* for scripts: a tab between cells, and nothing else */
} ColumnChoice;

/* Which of `kinds` -o and --sort choose. Refuses names that are none, and JSON beside them. */
int columns_choose(Client *c, const ColumnKind *kinds, size_t n_kinds, ColumnChoice *ret);

typedef struct ColumnRows {
	const void *rows;
	size_t n_rows, row_size;
	Colour (*colour)(const void *row);
	/* A sign before the first cell of a row, one column wide; NULL: rows have none. */
	const char *(*mark)(const Terminal *t, const void *row);
} ColumnRows;

/* Where they do not fit the terminal, some of the chosen are left out. */
void columns_print(Client *c, ColumnChoice *choice, const ColumnRows *rows);

void column_choice_clear(ColumnChoice *choice);
