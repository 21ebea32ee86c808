/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/table.h"

#include <libsmartcols.h>
#include <string.h>

#include "base/text.h"
#include "util/xalloc.h"

struct Table {
	const Terminal *terminal;
	struct libscols_table *scols;
	const Column *columns;
	size_t n_columns;
};

/* libsmartcols 2.38 makes room for headings that are not printed; 2.41 does not. */
static void add_column(Table *table, const Column *column, bool heading)
{
	struct libscols_column *c;
	int flags = 0;

	if (column->flags & COLUMN_LINES)
		flags |= SCOLS_FL_WRAP;
	if (column->flags & COLUMN_CUT)
		flags |= SCOLS_FL_TRUNC;
	if (column->flags & COLUMN_TREE)
		flags |= SCOLS_FL_TREE;
	if (column->flags & COLUMN_RIGHT)
		flags |= SCOLS_FL_RIGHT;
	c = scols_table_new_column(table->scols, heading ? column->title : "", 0, flags);
	if (!(column->flags & COLUMN_LINES))
		return;
	/* Break at line feeds only; without this smartcols breaks anywhere. */
	scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
	scols_column_set_safechars(c, "\n");
}

void table_new(const Terminal *terminal, const Column *columns, size_t n_columns, bool headings,
	       Table **ret)
{
	_cleanup_(table_freep) Table *table = NULL;

	table = xcalloc(1, sizeof(*table));
	table->terminal = terminal;
	table->columns = columns;
	table->n_columns = n_columns;
	table->scols = scols_new_table();
	scols_table_set_stream(table->scols, terminal->stream);
	scols_table_set_column_separator(table->scols, "  ");
	scols_table_enable_noheadings(table->scols, !headings);
	scols_table_enable_noencoding(table->scols, 1);
	scols_table_enable_ascii(table->scols, !terminal->utf8);
	scols_table_enable_colors(table->scols, terminal->colour);
	for (size_t i = 0; i < n_columns; i++)
		add_column(table, &columns[i], headings);
	*ret = TAKE_PTR(table);
}

void table_row(Table *table, const char *const *cells, Colour colour, TableRow *parent,
	       TableRow **ret_row)
{
	struct libscols_line *line;

	line = scols_table_new_line(table->scols, (struct libscols_line *)parent);
	for (size_t i = 0; i < table->n_columns; i++) {
		const char *sequence = terminal_colour(table->terminal, colour);
		char *cell = cells[i] ? text_in_locale(cells[i]) : NULL;

		if (cells[i]) {
			if (cell)
				scols_line_refer_data(line, i, cell);
		}
		if ((table->columns[i].flags & COLUMN_COLOUR) && *sequence)
			scols_cell_set_color(scols_line_get_cell(line, i), sequence);
	}
	if (ret_row)
		*ret_row = (TableRow *)line;
}

static size_t widest_line(char *text)
{
	size_t widest = 0;
	char *next;

	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (text_width(line) > widest)
			widest = text_width(line);
	}
	return widest;
}

void table_width(Table *table, size_t *ret)
{
	_cleanup_free_ char *text = NULL;

	scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER);
	scols_table_enable_colors(table->scols, 0);
	scols_print_table_to_string(table->scols, &text);
	scols_table_enable_colors(table->scols, table->terminal->colour);
	*ret = widest_line(text);
}

/* smartcols pads every cell but the last; trailing blanks are removed. */
static void print_trimmed(FILE *stream, char *text)
{
	char *next;

	for (char *line = text; *line; line = next) {
		size_t length = strcspn(line, "\n");
		size_t shown = length;

		next = line + length + (line[length] == '\n');
		while (shown > 0 && line[shown - 1] == ' ')
			shown--;
		fprintf(stream, "%.*s\n", (int)shown, line);
	}
}

void table_print(Table *table)
{
	const Terminal *t = table->terminal;
	_cleanup_free_ char *text = NULL;

	/* We measure the terminal ourselves, so that one width serves the whole output. */
	scols_table_set_termforce(table->scols,
				  t->width > 0 ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (t->width > 0)
		scols_table_set_termwidth(table->scols, t->width);
	scols_print_table_to_string(table->scols, &text);
	print_trimmed(t->stream, text);
}

Table *table_free(Table *table)
{
	if (!table)
		return NULL;
	scols_unref_table(table->scols);
	free(table);
	return NULL;
}
