/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables, by libsmartcols. */
#pragma once

#include "base/terminal.h"

typedef enum ColumnFlags {
	COLUMN_PLAIN = 0,
	COLUMN_LINES = 1 << 0,	/* a cell may have several lines */
	COLUMN_CUT = 1 << 1,	/* may be cut where the terminal is too narrow */
	COLUMN_COLOUR = 1 << 2, /* takes the row's colour */
	COLUMN_TREE = 1 << 3,	/* draws the branches */
	COLUMN_RIGHT = 1 << 4,
} ColumnFlags;

/* A flag, too: table_fit() may cut cells to so many columns. */
#define COLUMN_LEAST(width) ((unsigned)(width) << 8)

typedef struct Column {
	const char *title;
	unsigned flags; /* ColumnFlags */
} Column;

typedef struct Table Table;
typedef struct TableRow TableRow;

Table *table_new(const Terminal *terminal, const Column *columns, size_t n_columns, bool headings);
/*
 * Appends a row; one cell a column. Texts are copied. `parent` places the row in the tree, or is
 * NULL. Borrowed from the table.
 */
TableRow *table_row(Table *table, const char *const *cells, Colour colour, TableRow *parent);
/* Columns that the whole table takes when nothing is cut. */
size_t table_width(Table *table);
/*
 * Cuts cells, from the last column on, until the table is no wider; what is cut ends in an
 * ellipsis. By how many columns it is too wide then.
 */
size_t table_fit(Table *table, size_t width);
void table_print(Table *table);
DECLARE_FREE(Table, table_free)
