/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/columns.h"

#include <strings.h>

#include "base/text.h"
#include "util/grow.h"

/* ---- which columns ---- */

static const ColumnKind *find_kind(const ColumnChoice *choice, const char *name, size_t length)
{
	return FIND(choice->kinds, choice->n_kinds,
		    strncasecmp(it->name, name, length) == 0 && it->name[length] == '\0');
}

static void add_kinds(ColumnChoice *choice, bool all)
{
	for (size_t i = 0; i < choice->n_kinds; i++)
		if (all || choice->kinds[i].usual)
			*GROW(choice->chosen, choice->n_chosen) = &choice->kinds[i];
}

static int refuse_name(Client *c, const ColumnChoice *choice, const char *name, size_t length)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < choice->n_kinds; i++)
		strv_append(&names, choice->kinds[i].name);
	joined = strv_join(names, ", ");
	if (length == strlen("json") && strncmp(name, "json", length) == 0)
		return client_usage(c, "-o names columns\nRemedy: for JSON use -j");
	return client_usage(c, "there is no column '%.*s'\nRemedy: choose of: %s", (int)length,
			    name, joined);
}

static int take_names(Client *c, ColumnChoice *choice, const char *names)
{
	if (strcasecmp(names, "all") == 0) {
		add_kinds(choice, true);
		return 0;
	}
	if (*names == '+') {
		add_kinds(choice, false);
		names++;
	}
	for (;;) {
		size_t length = strcspn(names, ",");
		const ColumnKind *kind = find_kind(choice, names, length);

		if (!kind)
			return refuse_name(c, choice, names, length);
		*GROW(choice->chosen, choice->n_chosen) = kind;
		if (names[length] == '\0')
			return 0;
		names += length + 1;
	}
}

static int take_sort(Client *c, ColumnChoice *choice, const char *name)
{
	choice->descending = *name == '-';
	if (choice->descending)
		name++;
	choice->sort = find_kind(choice, name, strlen(name));
	return choice->sort ? 0 : refuse_name(c, choice, name, strlen(name));
}

int columns_choose(Client *c, const ColumnKind *kinds, size_t n_kinds, ColumnChoice *ret)
{
	const Options *o = c->options;
	ColumnChoice choice = { .kinds = kinds, .n_kinds = n_kinds };
	int r = 0;

	if (o->json != JSON_OFF && (o->columns || o->sort))
		return client_usage(c,
				    "--%s is for tables: JSON has all members, in one order\n"
				    "Remedy: choose and sort with jq",
				    o->columns ? "columns" : "sort");
	choice.plain = o->columns && !o->legend;
	if (o->columns)
		r = take_names(c, &choice, o->columns);
	else
		add_kinds(&choice, false);
	if (r >= 0 && o->sort)
		r = take_sort(c, &choice, o->sort);
	if (r < 0)
		column_choice_clear(&choice);
	else
		*ret = choice;
	return r;
}

void column_choice_clear(ColumnChoice *choice)
{
	free(choice->chosen);
	*choice = (ColumnChoice){ 0 };
}

/* ---- in which order ---- */

typedef struct SortKey {
	const void *row;
	size_t place; /* rows that are alike stay in their order */
	bool is_nothing;
	uint64_t number;
	char *text;
} SortKey;

static int compare_keys(const SortKey *a, const SortKey *b)
{
	if (a->text && b->text)
		return strverscmp(a->text, b->text);
	return a->number < b->number ? -1 : a->number > b->number;
}

/* What has nothing in that column comes last, whichever way. */
static int compare_rows(const void *left, const void *right, void *userdata)
{
	const SortKey *a = left, *b = right;
	const ColumnChoice *choice = userdata;
	int order = 0;

	if (a->is_nothing != b->is_nothing)
		return a->is_nothing ? 1 : -1;
	if (choice->sort)
		order = compare_keys(a, b);
	if (order != 0)
		return choice->descending ? -order : order;
	return a->place < b->place ? -1 : 1;
}

static void free_keys(SortKey *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(keys[i].text);
	free(keys);
}

/* The rows, in order; the caller frees it with free_keys(). */
static SortKey *sort_rows(const ColumnChoice *choice, const ColumnRows *rows)
{
	SortKey *keys = xcalloc(rows->n_rows + 1, sizeof(*keys));

	for (size_t i = 0; i < rows->n_rows; i++) {
		SortKey *key = &keys[i];

		key->row = (const char *)rows->rows + i * rows->row_size;
		key->place = i;
		if (!choice->sort)
			continue;
		if (choice->sort->number)
			key->number = choice->sort->number(key->row);
		key->text = choice->sort->text(key->row);
		key->is_nothing = strcmp(key->text, "-") == 0;
		if (choice->sort->number) {
			free(key->text);
			key->text = NULL;
		}
	}
	if (rows->n_rows > 1)
		qsort_r(keys, rows->n_rows, sizeof(*keys), compare_rows, (void *)choice);
	return keys;
}

/* ---- printing ---- */

typedef struct Grid {
	Client *client;
	ColumnChoice *choice;
	const ColumnRows *rows;
	const SortKey *order;
	bool marked; /* there is room for a mark before the first cell */
	bool narrow; /* one item a line */
} Grid;

static char *cell_text(const Grid *g, size_t column, const void *row)
{
	const ColumnKind *kind = g->choice->chosen[column];
	_cleanup_free_ char *text = kind->text(row);

	for (char *p = text; g->narrow && (kind->flags & COLUMN_LINES) && *p; p++)
		if (*p == ',')
			*p = '\n';
	if (column == 0 && g->marked)
		return strf("%s %s", g->rows->mark(&g->client->out, row), text);
	return TAKE_PTR(text);
}

static void add_row(const Grid *g, Table *table, const void *row)
{
	_cleanup_strv_ char **cells = xcalloc(g->choice->n_chosen + 1, sizeof(char *));

	for (size_t i = 0; i < g->choice->n_chosen; i++)
		cells[i] = cell_text(g, i, row);
	table_row(table, (const char *const *)cells, g->rows->colour(row), NULL);
}

static Table *make_table(const Grid *g)
{
	_cleanup_free_ Column *columns = xcalloc(g->choice->n_chosen, sizeof(*columns));
	_cleanup_free_ char *first = strf("  %s", g->choice->chosen[0]->name);
	Table *table;

	for (size_t i = 0; i < g->choice->n_chosen; i++) {
		columns[i].title = i == 0 && g->marked ? first : g->choice->chosen[i]->name;
		columns[i].flags = g->choice->chosen[i]->flags;
		columns[i].flags |= COLUMN_LEAST(g->choice->chosen[i]->minimum);
		if (!g->narrow)
			columns[i].flags &= ~(unsigned)COLUMN_LINES;
	}
	table = table_new(&g->client->out, columns, g->choice->n_chosen,
			  g->client->options->legend);
	for (size_t i = 0; i < g->rows->n_rows; i++)
		add_row(g, table, g->order[i].row);
	return table;
}

/* The first that can be spared; false: none can. */
static bool leave_out(ColumnChoice *choice)
{
	for (size_t i = 0; i < choice->n_chosen; i++)
		if (choice->chosen[i]->spare) {
			choice->n_chosen--;
			memmove(&choice->chosen[i], &choice->chosen[i + 1],
				(choice->n_chosen - i) * sizeof(*choice->chosen));
			return true;
		}
	return false;
}

/*
 * A table that fits its terminal. Cells are cut to their minimum at most, and columns that somebody
 * asked for are not left out: a row may still be wider than the terminal.
 */
static Table *fit(Grid *g)
{
	size_t width = g->client->out.width;
	Table *table = make_table(g);

	if (width == 0 || table_width(table) <= width)
		return table;
	g->narrow = true;
	do {
		table_free(table);
		table = make_table(g);
	} while (table_fit(table, width) > 0 && !g->client->options->columns &&
		 leave_out(g->choice));
	return table;
}

static void print_plain(const Grid *g)
{
	for (size_t row = 0; row < g->rows->n_rows; row++)
		for (size_t i = 0; i < g->choice->n_chosen; i++) {
			_cleanup_free_ char *text = cell_text(g, i, g->order[row].row);

			fprintf(g->client->out.stream, "%s%c", text,
				i + 1 < g->choice->n_chosen ? '\t' : '\n');
		}
}

void columns_print(Client *c, ColumnChoice *choice, const ColumnRows *rows)
{
	SortKey *order = sort_rows(choice, rows);
	Grid g = { .client = c, .choice = choice, .rows = rows, .order = order };

	if (choice->plain) {
		print_plain(&g);
	} else {
		_cleanup_(table_freep) Table *table = NULL;

		g.marked = rows->mark && choice->chosen[0] == choice->kinds;
		table = fit(&g);
		table_print(table);
	}
	free_keys(order, rows->n_rows);
}
