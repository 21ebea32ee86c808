/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/columns.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

/* ---- which columns ---- */

static const ColumnKind *find_kind(const ColumnChoice *choice, const char *name, size_t length)
{
	for (size_t i = 0; i < choice->n_kinds; i++)
		if (strncasecmp(choice->kinds[i].name, name, length) == 0 &&
		    choice->kinds[i].name[length] == '\0')
			return &choice->kinds[i];
	return NULL;
}

static int add_kind(ColumnChoice *choice, const ColumnKind *kind)
{
	const ColumnKind **bigger =
		reallocarray(choice->chosen, choice->n_chosen + 1, sizeof(ColumnKind *));

	if (!bigger)
		return -ENOMEM;
	bigger[choice->n_chosen++] = kind;
	choice->chosen = bigger;
	return 0;
}

static int add_kinds(ColumnChoice *choice, bool all)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < choice->n_kinds; i++)
		if (all || choice->kinds[i].usual)
			r = add_kind(choice, &choice->kinds[i]);
	return r;
}

static int refuse_name(Client *c, const ColumnChoice *choice, const char *name, size_t length)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < choice->n_kinds; i++)
		if (strv_append(&names, choice->kinds[i].name) < 0)
			return -ENOMEM;
	joined = strv_join(names, ", ");
	if (!joined)
		return -ENOMEM;
	if (length == strlen("json") && strncmp(name, "json", length) == 0)
		return client_usage(c, "-o names columns\nRemedy: for JSON use -j");
	return client_usage(c, "there is no column '%.*s'\nRemedy: choose of: %s", (int)length,
			    name, joined);
}

static int take_names(Client *c, ColumnChoice *choice, const char *names)
{
	int r = 0;

	if (strcasecmp(names, "all") == 0)
		return add_kinds(choice, true);
	if (*names == '+') {
		r = add_kinds(choice, false);
		names++;
	}
	for (;;) {
		size_t length = strcspn(names, ",");
		const ColumnKind *kind = find_kind(choice, names, length);

		if (r >= 0)
			r = kind ? add_kind(choice, kind) : refuse_name(c, choice, names, length);
		if (r < 0 || names[length] == '\0')
			return r;
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
	int r;

	if (o->json != JSON_OFF && (o->columns || o->sort))
		return client_usage(c,
				    "--%s is for tables: JSON has all members, in one order\n"
				    "Remedy: choose and sort with jq",
				    o->columns ? "columns" : "sort");
	choice.plain = o->columns && !o->legend;
	r = o->columns ? take_names(c, &choice, o->columns) : add_kinds(&choice, false);
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

/* *ret: the rows, in order; the caller frees it with free_keys(). */
static int sort_rows(const ColumnChoice *choice, const ColumnRows *rows, SortKey **ret)
{
	SortKey *keys = calloc(rows->n_rows + 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < rows->n_rows; i++) {
		SortKey *key = &keys[i];

		key->row = (const char *)rows->rows + i * rows->row_size;
		key->place = i;
		if (!choice->sort)
			continue;
		if (choice->sort->number)
			key->number = choice->sort->number(key->row);
		key->text = choice->sort->text(key->row);
		if (!key->text) {
			free_keys(keys, rows->n_rows);
			return -ENOMEM;
		}
		key->is_nothing = strcmp(key->text, "-") == 0;
		if (choice->sort->number) {
			free(key->text);
			key->text = NULL;
		}
	}
	if (rows->n_rows > 1)
		qsort_r(keys, rows->n_rows, sizeof(*keys), compare_rows, (void *)choice);
	*ret = keys;
	return 0;
}

/* ---- printing ---- */

typedef struct Grid {
	Client *client;
	ColumnChoice *choice;
	const ColumnRows *rows;
	const SortKey *order;
	bool marked;	/* there is room for a mark before the first cell */
	bool narrow;	/* one item a line */
	size_t *widths; /* of each column, where it is cut; otherwise SIZE_MAX */
} Grid;

static char *cell_text(const Grid *g, size_t column, const void *row)
{
	const ColumnKind *kind = g->choice->chosen[column];
	const Terminal *t = &g->client->out;
	_cleanup_free_ char *text = kind->text(row), *cut = NULL;

	if (!text)
		return NULL;
	for (char *p = text; g->narrow && (kind->flags & COLUMN_LINES) && *p; p++)
		if (*p == ',')
			*p = '\n';
	if (g->widths[column] != SIZE_MAX) {
		cut = text_cut(text, g->widths[column], terminal_glyph(t, GLYPH_ELLIPSIS));
		if (!cut)
			return NULL;
		free(text);
		text = TAKE_PTR(cut);
	}
	if (column == 0 && g->marked)
		return strf("%s %s", g->rows->mark(t, row), text);
	return TAKE_PTR(text);
}

static int add_row(const Grid *g, Table *table, const void *row)
{
	_cleanup_strv_ char **cells = calloc(g->choice->n_chosen + 1, sizeof(char *));

	if (!cells)
		return -ENOMEM;
	for (size_t i = 0; i < g->choice->n_chosen; i++) {
		cells[i] = cell_text(g, i, row);
		if (!cells[i])
			return -ENOMEM;
	}
	return table_row(table, (const char *const *)cells, g->rows->colour(row), NULL, NULL);
}

static int make_table(const Grid *g, Table **ret)
{
	_cleanup_free_ Column *columns = calloc(g->choice->n_chosen, sizeof(*columns));
	_cleanup_free_ char *first = strf("  %s", g->choice->chosen[0]->name);
	_cleanup_(table_freep) Table *table = NULL;
	int r;

	if (!columns || !first)
		return -ENOMEM;
	for (size_t i = 0; i < g->choice->n_chosen; i++) {
		columns[i].title = i == 0 && g->marked ? first : g->choice->chosen[i]->name;
		columns[i].flags = g->choice->chosen[i]->flags;
		if (!g->narrow)
			columns[i].flags &= ~(unsigned)COLUMN_LINES;
	}
	r = table_new(&g->client->out, columns, g->choice->n_chosen, g->client->options->legend,
		      &table);
	for (size_t i = 0; r >= 0 && i < g->rows->n_rows; i++)
		r = add_row(g, table, g->order[i].row);
	if (r < 0)
		return r;
	/* What the table has of the columns is their number and flags: their titles are copied. */
	*ret = TAKE_PTR(table);
	return 0;
}

/* How many columns the table is too wide by; 0: it fits. */
static int measure(const Grid *g, size_t *ret_over)
{
	_cleanup_(table_freep) Table *table = NULL;
	size_t width = 0;
	int r;

	r = make_table(g, &table);
	if (r >= 0)
		r = table_width(table, &width);
	if (r < 0)
		return r;
	*ret_over = width > g->client->out.width ? width - g->client->out.width : 0;
	return 0;
}

/* Takes up to *over columns off what the cells of a column need, but leaves its minimum. */
static int shorten(Grid *g, size_t column, size_t *over)
{
	size_t minimum = g->choice->chosen[column]->minimum, widest = minimum, cut;

	for (size_t i = 0; i < g->rows->n_rows; i++) {
		_cleanup_free_ char *text = cell_text(g, column, g->order[i].row);

		if (!text)
			return -ENOMEM;
		if (text_width(text) > widest)
			widest = text_width(text);
	}
	cut = widest - minimum < *over ? widest - minimum : *over;
	g->widths[column] = widest - cut;
	*over -= cut;
	return 0;
}

/* Cuts cells, from the last column on; what is cut ends in an ellipsis. */
static int cut(Grid *g, size_t *ret_over)
{
	size_t over = 0;
	int r;

	for (size_t i = 0; i < g->choice->n_chosen; i++)
		g->widths[i] = SIZE_MAX;
	r = measure(g, &over);
	for (size_t i = g->choice->n_chosen; r >= 0 && over > 0 && i-- > 0;)
		if (g->choice->chosen[i]->minimum > 0)
			r = shorten(g, i, &over);
	*ret_over = over;
	return r;
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
 * Makes the table fit its terminal. Cells are cut to their minimum at most, and columns that
 * somebody asked for are not left out: a row may still be wider than the terminal.
 */
static int fit(Grid *g)
{
	size_t over = 0;
	int r;

	if (g->client->out.width == 0)
		return 0;
	r = measure(g, &over);
	if (r < 0 || over == 0)
		return r;
	g->narrow = true;
	do
		r = cut(g, &over);
	while (r >= 0 && over > 0 && !g->client->options->columns && leave_out(g->choice));
	return r;
}

static int print_plain(const Grid *g)
{
	for (size_t row = 0; row < g->rows->n_rows; row++)
		for (size_t i = 0; i < g->choice->n_chosen; i++) {
			_cleanup_free_ char *text = cell_text(g, i, g->order[row].row);

			if (!text)
				return -ENOMEM;
			fprintf(g->client->out.stream, "%s%c", text,
				i + 1 < g->choice->n_chosen ? '\t' : '\n');
		}
	return 0;
}

static int print_grid(Grid *g)
{
	_cleanup_(table_freep) Table *table = NULL;
	int r;

	if (g->choice->plain)
		return print_plain(g);
	g->marked = g->rows->mark && g->choice->chosen[0] == g->choice->kinds;
	r = fit(g);
	if (r >= 0)
		r = make_table(g, &table);
	return r < 0 ? r : table_print(table);
}

int columns_print(Client *c, const ColumnChoice *choice, const ColumnRows *rows)
{
	_cleanup_free_ size_t *widths = calloc(choice->n_chosen, sizeof(*widths));
	_cleanup_free_ const ColumnKind **chosen = calloc(choice->n_chosen, sizeof(*chosen));
	ColumnChoice shown = *choice;
	Grid g = { .client = c, .choice = &shown, .rows = rows, .widths = widths };
	SortKey *order = NULL;
	int r;

	if (!widths || !chosen)
		return -ENOMEM;
	shown.chosen = chosen;
	memcpy(chosen, choice->chosen, choice->n_chosen * sizeof(*chosen));
	for (size_t i = 0; i < choice->n_chosen; i++)
		widths[i] = SIZE_MAX;
	r = sort_rows(choice, rows, &order);
	if (r < 0)
		return r;
	g.order = order;
	r = print_grid(&g);
	free_keys(order, rows->n_rows);
	return r;
}
