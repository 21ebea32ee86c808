/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the audit trail as a table and as lines. All of their text was chosen by others. */
#include <string.h>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "bus/document.h"
#include "util/xalloc.h"
#include "verbs/audit.h"

static const Column columns[] = {
	{ "TIME", 0 },
	{ "USER", 0 },
	{ "WHAT", 0 },
	{ "ON", 0 },
	{ "VERDICT", COLUMN_COLOUR },
	{ "WHY", COLUMN_CUT },
};

static const Column now_columns[] = {
	{ "GPU", 0 },		{ "FILE", 0 }, { "PID", COLUMN_RIGHT }, { "PROCESS", COLUMN_CUT },
	{ "UNIT", COLUMN_CUT },
};

static const Column seen_columns[] = {
	{ "TIME", 0 },
	{ "GPU", 0 },
	{ "FILE", 0 },
	{ "PID", COLUMN_RIGHT },
	{ "PROCESS", COLUMN_CUT },
	{ "SEEN", 0 },
};

static char *number_text(const json_t *record, const char *key)
{
	const json_t *number = json_object_get(record, key);

	return json_is_integer(number) ? strf("%lld", (long long)json_integer_value(number))
				       : xstrdup("-");
}

/* "1000", or "0 (1000)": as root, after a login as 1000. */
static char *user_text(const json_t *record)
{
	_cleanup_free_ char *uid = number_text(record, "uid");
	_cleanup_free_ char *login = number_text(record, "login_uid");

	return str_equal(login, "-") || str_equal(login, uid) ? TAKE_PTR(uid)
							      : strf("%s (%s)", uid, login);
}

/* "Assign" of a call, "assign begun" of a job, otherwise the kind. */
static char *what_text(const json_t *record)
{
	_cleanup_free_ char *kind = document_text(record, "kind");
	_cleanup_free_ char *verb = document_text(record, "verb");

	if (!*verb)
		return TAKE_PTR(kind);
	if (str_equal(kind, "call"))
		return TAKE_PTR(verb);
	return strf("%s %s", verb, str_starts_with(kind, "job-") ? kind + strlen("job-") : kind);
}

static char *functions_text(const json_t *record)
{
	_cleanup_(strv_freep) char **all = NULL;
	const json_t *function;
	size_t i;

	json_array_foreach (json_object_get(record, "functions"), i, function)
		strv_append_take(&all, text_printable(str_or_empty(json_string_value(function))));
	return all ? strv_join(all, ",") : xstrdup("-");
}

/* Group and domain; where there is neither, the functions. */
static char *on_text(const json_t *record)
{
	_cleanup_free_ char *group = document_text(record, "group");
	_cleanup_free_ char *domain = document_text(record, "domain");

	if (!*group && !*domain)
		return functions_text(record);
	return strf("%s%s%s", group, *group && *domain ? " " : "", domain);
}

static Colour verdict_colour(const char *verdict)
{
	static const char *const bad[] = { "denied", "limited", "failed", "incomplete", "undone" };

	for (size_t i = 0; i < ELEMENTS(bad); i++)
		if (str_equal(verdict, bad[i]))
			return COLOUR_BAD;
	return str_equal(verdict, "none") ? COLOUR_NONE : COLOUR_GOOD;
}

typedef struct Texts {
	char *time, *user, *what, *on, *verdict, *why;
} Texts;

static void texts_clear(Texts *t)
{
	free(t->time);
	free(t->user);
	free(t->what);
	free(t->on);
	free(t->verdict);
	free(t->why);
}

static Texts texts_of(const json_t *record)
{
	json_int_t time = json_integer_value(json_object_get(record, "time_usec"));

	return (Texts){
		.time = time_format(time > 0 ? (uint64_t)time : 0),
		.user = user_text(record),
		.what = what_text(record),
		.on = on_text(record),
		.verdict = str_equal(json_text_of(record, "verdict"), "none")
				   ? xstrdup("-")
				   : document_text(record, "verdict"),
		.why = document_text(record, "reason"),
	};
}

/* What it was on has a fifth of a terminal, so that a long reason does not take its room. */
static void add_record(Table *table, const Terminal *terminal, const json_t *record)
{
	size_t room = terminal->width > 0 ? terminal->width / 5 : SIZE_MAX;
	_cleanup_(texts_clear) Texts t = texts_of(record);
	_cleanup_free_ char *on = text_cut(t.on, room, terminal_glyph(terminal, GLYPH_ELLIPSIS));

	table_row(table, (const char *const[]){ t.time, t.user, t.what, on, t.verdict, t.why },
		  verdict_colour(json_text_of(record, "verdict")), NULL);
}

void audit_print(Client *c, json_t *records)
{
	_cleanup_(table_freep) Table *table = NULL;
	const json_t *record;
	size_t i;

	if (json_array_size(records) == 0) {
		if (!c->options->quiet)
			fputs("There are no such records.\n", c->err.stream);
		return;
	}
	table = table_new(&c->out, columns, ELEMENTS(columns), c->options->legend);
	json_array_foreach (records, i, record)
		add_record(table, &c->out, record);
	table_print(table);
}

int audit_print_line(Client *c, json_t *record)
{
	int r = 0;

	if (c->options->json != JSON_OFF) {
		r = json_print_line(c, json_incref(record));
	} else {
		_cleanup_(texts_clear) Texts t = texts_of(record);

		fprintf(c->out.stream, "%s  user %s  %s  %s  %s%s%s\n", t.time, t.user, t.what,
			t.on,
			terminal_colour(&c->out, verdict_colour(json_text_of(record, "verdict"))),
			t.verdict, terminal_plain(&c->out));
		if (*t.why)
			fprintf(c->out.stream, "    %s\n", t.why);
	}
	/* A reader of a pipe wants records as they come. */
	return fflush(c->out.stream) == EOF ? -errno : r;
}

/* ---- holders ---- */

static void add_now(Table *table, const json_t *holder)
{
	_cleanup_free_ char *function = document_text(holder, "function");
	_cleanup_free_ char *path = document_text(holder, "path");
	_cleanup_free_ char *pid = number_text(holder, "pid");
	_cleanup_free_ char *command = document_text(holder, "command");
	_cleanup_free_ char *unit = document_text(holder, "unit");

	table_row(table, (const char *const[]){ function, path, pid, command, unit }, COLOUR_NONE,
		  NULL);
}

static void print_now(Client *c, json_t *holders)
{
	_cleanup_(table_freep) Table *table = NULL;
	const json_t *list = json_object_get(holders, "holders"), *item;
	size_t i;

	if (json_array_size(list) == 0)
		fputs("No process has a file of a GPU open.\n", c->out.stream);
	else
		table = table_new(&c->out, now_columns, ELEMENTS(now_columns), c->options->legend);
	json_array_foreach (list, i, item)
		add_now(table, item);
	if (table)
		table_print(table);
	json_array_foreach (json_object_get(holders, "unseen"), i, item) {
		_cleanup_free_ char *line = text_printable(str_or_empty(json_string_value(item)));

		fprintf(c->out.stream, "%s\n", line);
	}
}

static void add_seen(Table *table, const json_t *record)
{
	_cleanup_(texts_clear) Texts t = texts_of(record);
	_cleanup_free_ char *pid = number_text(record, "pid");
	_cleanup_free_ char *command = document_text(record, "command");
	_cleanup_free_ char *functions = functions_text(record);

	table_row(table,
		  (const char *const[]){
			  t.time, functions, t.why, pid, command,
			  str_equal(json_text_of(record, "kind"), "holder") ? "open" : "gone" },
		  COLOUR_NONE, NULL);
}

void audit_print_holders(Client *c, json_t *holders, json_t *records)
{
	_cleanup_(table_freep) Table *table = NULL;
	const json_t *record;
	size_t i;

	print_now(c, holders);
	if (json_array_size(records) == 0)
		return;
	fputs("\n", c->out.stream);
	table = table_new(&c->out, seen_columns, ELEMENTS(seen_columns), c->options->legend);
	json_array_foreach (records, i, record)
		add_seen(table, record);
	table_print(table);
}
