/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/table.h"

#include <libsmartcols.h>

#include "base/text.h"
#include "util/grow.h"

typedef struct Line {
	struct libscols_line *line;
	char **cells; /* as they were given */
} Line;

struct Table {
	const Terminal *terminal;
	struct libscols_table *scols;
	unsigned *flags; /* of each column */
	size_t n_columns;
	Line *lines;
	size_t n_lines;
};

/* What libsmartcols gives NULL for without memory, the next call refuses. */
static void done(int r)
{
	if (r < 0)
		impossible("a table cannot be made, so this process ends");
}

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
	done(scols_column_set_wrapfunc(c, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL));
	done(scols_column_set_safechars(c, "\n"));
}

Table *table_new(const Terminal *terminal, const Column *columns, size_t n_columns, bool headings)
{
	Table *table = xcalloc(1, sizeof(*table));

	table->terminal = terminal;
	table->flags = xcalloc(n_columns, sizeof(*table->flags));
	table->n_columns = n_columns;
	table->scols = scols_new_table();
	done(scols_table_set_stream(table->scols, terminal->stream));
	done(scols_table_set_column_separator(table->scols, "  "));
	done(scols_table_enable_noheadings(table->scols, !headings));
	/* What is to be written out is so already, and would be a second time. */
	done(scols_table_enable_noencoding(table->scols, 1));
	done(scols_table_enable_ascii(table->scols, !terminal->utf8));
	done(scols_table_enable_colors(table->scols, terminal->colour));
	for (size_t i = 0; i < n_columns; i++) {
		table->flags[i] = columns[i].flags;
		add_column(table, &columns[i], headings);
	}
	return table;
}

static void set_cell(const Line *line, size_t column, const char *text)
{
	done(scols_line_refer_data(line->line, column, text_in_locale(text)));
}

TableRow *table_row(Table *table, const char *const *cells, Colour colour, TableRow *parent)
{
	const char *sequence = terminal_colour(table->terminal, colour);
	Line *line = GROW(table->lines, table->n_lines);

	line->line = scols_table_new_line(table->scols, (struct libscols_line *)parent);
	for (size_t i = 0; i < table->n_columns; i++) {
		strv_append(&line->cells, cells[i]);
		set_cell(line, i, cells[i]);
		if ((table->flags[i] & COLUMN_COLOUR) && *sequence)
			done(scols_cell_set_color(scols_line_get_cell(line->line, i), sequence));
	}
	return (TableRow *)line->line;
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

static char *to_text(Table *table)
{
	char *text = NULL;

	done(scols_print_table_to_string(table->scols, &text));
	return text;
}

size_t table_width(Table *table)
{
	_cleanup_free_ char *text = NULL;

	done(scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER));
	done(scols_table_enable_colors(table->scols, 0));
	text = to_text(table);
	done(scols_table_enable_colors(table->scols, table->terminal->colour));
	return widest_line(text);
}

/* Takes up to `over` columns off what the cells of a column need; how many it took. */
static size_t shorten(Table *table, size_t column, size_t over)
{
	const char *ellipsis = terminal_glyph(table->terminal, GLYPH_ELLIPSIS);
	size_t least = table->flags[column] / COLUMN_LEAST(1), widest = least, cut;

	for (size_t i = 0; i < table->n_lines; i++)
		if (text_width(table->lines[i].cells[column]) > widest)
			widest = text_width(table->lines[i].cells[column]);
	cut = widest - least < over ? widest - least : over;
	for (size_t i = 0; i < table->n_lines; i++) {
		_cleanup_free_ char *text =
			text_cut(table->lines[i].cells[column], widest - cut, ellipsis);

		set_cell(&table->lines[i], column, text);
	}
	return cut;
}

size_t table_fit(Table *table, size_t width)
{
	size_t full = table_width(table), over = full > width ? full - width : 0;

	for (size_t i = table->n_columns; over > 0 && i-- > 0;)
		if (table->flags[i] >= COLUMN_LEAST(1))
			over -= shorten(table, i, over);
	return over;
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
	done(scols_table_set_termforce(table->scols, t->width > 0 ? SCOLS_TERMFORCE_ALWAYS
								  : SCOLS_TERMFORCE_NEVER));
	if (t->width > 0)
		done(scols_table_set_termwidth(table->scols, t->width));
	text = to_text(table);
	print_trimmed(t->stream, text);
}

static void table_clear(Table *table)
{
	scols_unref_table(table->scols);
	for (size_t i = 0; i < table->n_lines; i++)
		strv_free(table->lines[i].cells);
	free(table->lines);
	free(table->flags);
}

DEFINE_FREE(Table, table_free, table_clear)
