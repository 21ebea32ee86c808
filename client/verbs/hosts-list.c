/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass list of several hosts: one table, in which a host without rows has a line. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "model/model.h"
#include "verbs/hosts.h"
#include "verbs/list.h"

/* Longer names of hosts do not move what is said of others. */
#define HOST_WIDTH_MAX 40

static const ColumnKind host_kind = { .name = "HOST", .usual = true };

/* A row of list on one of the hosts, or what is said of a host that has none. */
typedef struct Row {
	const HostsTable *table;
	const char *host;
	char **cells; /* those of list; NULL: something is said instead */
	Colour colour;
	bool is_group, is_held;
	char *said;	   /* the line in the table */
	const char *state; /* in a table for scripts */
	char *reason;
} Row;

typedef struct Rows {
	Row *items;
	size_t n;
} Rows;

static void rows_clear(Rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		strv_free(rows->items[i].cells);
		free(rows->items[i].said);
		free(rows->items[i].reason);
	}
	free(rows->items);
	*rows = (Rows){ 0 };
}

static Row *add_row(Rows *rows, const HostsTable *table, const char *host)
{
	Row *bigger = reallocarray(rows->items, rows->n + 1, sizeof(*bigger));

	if (!bigger)
		return NULL;
	rows->items = bigger;
	bigger[rows->n] = (Row){ .table = table, .host = host, .state = "-" };
	return &bigger[rows->n++];
}

/* ---- the columns ---- */

int hosts_table_choose(Client *c, HostsTable *ret)
{
	size_t n;
	const ColumnKind *of_list = list_columns(&n);
	ColumnKind *all = calloc(n + 1, sizeof(*all));
	int r;

	if (!all)
		return -ENOMEM;
	all[0] = host_kind;
	memcpy(all + 1, of_list, n * sizeof(*all));
	*ret = (HostsTable){ .kinds = all, .n_kinds = n + 1 };
	r = columns_choose(c, all, n + 1, &ret->choice);
	if (r < 0)
		hosts_table_clear(ret);
	return r;
}

void hosts_table_clear(HostsTable *table)
{
	column_choice_clear(&table->choice);
	free(table->kinds);
	*table = (HostsTable){ 0 };
}

static char *cell(const void *item, const ColumnKind *kind)
{
	const Row *row = item;
	size_t i = (size_t)(kind - row->table->kinds);

	if (i == 0)
		return strdup(row->host);
	if (row->cells)
		return strdup(row->cells[i - 1]);
	if (strcmp(kind->name, "STATE") == 0)
		return strdup(row->state);
	return strdup(row->reason && strcmp(kind->name, "REASON") == 0 ? row->reason : "-");
}

static Colour row_colour(const void *item)
{
	return ((const Row *)item)->colour;
}

static const char *row_mark(const Terminal *t, const void *item)
{
	const Row *row = item;

	if (!row->is_group)
		return " ";
	return terminal_glyph(t, row->is_held ? GLYPH_HELD : GLYPH_NOT_HELD);
}

static const char *row_said(const void *item)
{
	return ((const Row *)item)->said;
}

/* ---- in the process of a host ---- */

int hosts_table_load(Client *c, json_t **ret)
{
	_cleanup_(world_clear) World w = { 0 };
	int r = world_load(c, &w);

	if (r < 0)
		return r;
	*ret = list_rows_json(&w);
	return *ret ? 0 : -ENOMEM;
}

/* ---- what the hosts say ---- */

/* Copies of the strings, clean; -EBADMSG where it is no list of strings. */
static int take_strings(const json_t *array, char ***ret)
{
	_cleanup_strv_ char **list = calloc(json_array_size(array) + 1, sizeof(char *));
	const json_t *item;
	size_t i;

	if (!list)
		return -ENOMEM;
	if (!json_is_array(array))
		return -EBADMSG;
	json_array_foreach (array, i, item) {
		if (!json_is_string(item))
			return -EBADMSG;
		list[i] = text_printable(json_string_value(item));
		if (!list[i])
			return -ENOMEM;
	}
	*ret = TAKE_PTR(list);
	return 0;
}

static int take_row(json_t *item, const HostsTable *table, Row *row)
{
	json_t *cells, *held;
	int colour, r;

	if (json_unpack_ex(item, NULL, JSON_STRICT, "{s:o, s:i, s:o}", "cells", &cells, "colour",
			   &colour, "held", &held) < 0 ||
	    colour < COLOUR_NONE || colour > COLOUR_BOLD ||
	    !(json_is_boolean(held) || json_is_null(held)))
		return -EBADMSG;
	r = take_strings(cells, &row->cells);
	if (r < 0)
		return r;
	row->colour = (Colour)colour;
	row->is_group = json_is_boolean(held);
	row->is_held = json_is_true(held);
	return strv_length(row->cells) == table->n_kinds - 1 ? 0 : -EBADMSG;
}

typedef struct Told {
	json_t *rows;
	char **hints, **notes;
} Told;

static void told_clear(Told *told)
{
	strv_free(told->hints);
	strv_free(told->notes);
}

static int read_told(json_t *document, Told *ret)
{
	json_t *hints, *notes;
	int r;

	if (json_unpack_ex(document, NULL, JSON_STRICT, "{s:o, s:o, s:o}", "rows", &ret->rows,
			   "hints", &hints, "notes", &notes) < 0 ||
	    !json_is_array(ret->rows))
		return -EBADMSG;
	r = take_strings(hints, &ret->hints);
	return r < 0 ? r : take_strings(notes, &ret->notes);
}

/* Adds its rows; on failure none is left. */
static int take_rows(const HostsTable *table, const char *host, const Told *told, Rows *rows)
{
	size_t before = rows->n, i;
	json_t *item;
	int r = 0;

	json_array_foreach (told->rows, i, item) {
		Row *row = add_row(rows, table, host);

		r = row ? take_row(item, table, row) : -ENOMEM;
		if (r < 0)
			break;
	}
	while (r < 0 && rows->n > before)
		strv_free(rows->items[--rows->n].cells);
	return r;
}

/* ---- what is said of a host that has no rows ---- */

static size_t host_width(char *const *hosts)
{
	size_t width = 0;

	for (size_t i = 0; hosts[i]; i++)
		if (strlen(hosts[i]) > width && strlen(hosts[i]) <= HOST_WIDTH_MAX)
			width = strlen(hosts[i]);
	return width;
}

static int say(const Client *c, Row *row, int width, const char *mark, const char *text)
{
	const Terminal *t = &c->out;

	row->said = strf("%s%s %-*s  %s%s", terminal_colour(t, row->colour), mark, width, row->host,
			 text, terminal_plain(t));
	return row->said ? 0 : -ENOMEM;
}

static int say_failure(const Client *c, Row *row, int width, const HostAnswer *answer)
{
	row->colour = COLOUR_BAD;
	row->state = answer->reached ? "failed" : "unreachable";
	row->reason = answer_reason(answer);
	return row->reason ? say(c, row, width, terminal_glyph(&c->out, GLYPH_FAILED), row->reason)
			   : -ENOMEM;
}

/* ---- all of it ---- */

typedef struct Whole {
	Client *client;
	const HostsTable *table;
	int width;
	Rows rows;
	char **hints, **notes;
} Whole;

static void whole_clear(Whole *whole)
{
	rows_clear(&whole->rows);
	strv_free(whole->hints);
	strv_free(whole->notes);
}

/* "gpu01: " before each. */
static int add_texts(char ***to, const char *host, char *const *texts)
{
	for (size_t i = 0; texts && texts[i]; i++) {
		_cleanup_free_ char *text = strf("%s: %s", host, texts[i]);

		if (!text || strv_append(to, text) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_told(Whole *whole, const char *host, json_t *document)
{
	_cleanup_(told_clear) Told told = { 0 };
	int r = read_told(document, &told);

	if (r >= 0)
		r = take_rows(whole->table, host, &told, &whole->rows);
	if (r >= 0)
		r = add_texts(&whole->hints, host, told.hints);
	if (r >= 0)
		r = add_texts(&whole->notes, host, told.notes);
	return r;
}

static int add_host(Whole *whole, const char *host, HostAnswer *answer)
{
	size_t before = whole->rows.n;
	Row *row;
	int r = answer->failure ? 0 : add_told(whole, host, answer->document);

	if (r == -EBADMSG)
		r = answer_refuse(answer, host, "has no rows of a table");
	if (r < 0 || whole->rows.n > before)
		return r;
	row = add_row(&whole->rows, whole->table, host);
	if (!row)
		return -ENOMEM;
	if (answer->failure)
		return say_failure(whole->client, row, whole->width, answer);
	row->colour = COLOUR_DIM;
	return say(whole->client, row, whole->width, " ", "There are no NVIDIA GPUs in this host.");
}

static void print_texts(const Whole *whole)
{
	const Options *o = whole->client->options;
	const Terminal *out = &whole->client->out, *err = &whole->client->err;

	for (size_t i = 0; o->legend && whole->hints && whole->hints[i]; i++) {
		fputs(i == 0 ? "\n" : "", out->stream);
		terminal_prose(out, 0, 2, whole->hints[i]);
	}
	for (size_t i = 0; !o->quiet && whole->notes && whole->notes[i]; i++) {
		fputs("Note: ", err->stream);
		terminal_prose(err, strlen("Note: "), 2, whole->notes[i]);
	}
}

int hosts_table_print(Client *c, const HostsTable *table, char *const *hosts, HostAnswer *answers)
{
	_cleanup_(whole_clear)
		Whole whole = { .client = c, .table = table, .width = (int)host_width(hosts) };
	int r = 0;

	for (size_t i = 0; r >= 0 && hosts[i]; i++)
		r = add_host(&whole, hosts[i], &answers[i]);
	if (r >= 0)
		r = columns_print(c, &table->choice,
				  &(ColumnRows){ .rows = whole.rows.items,
						 .n_rows = whole.rows.n,
						 .row_size = sizeof(Row),
						 .colour = row_colour,
						 .mark = row_mark,
						 .cell = cell,
						 .said = row_said });
	if (r >= 0)
		print_texts(&whole);
	return r;
}
