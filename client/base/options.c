/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/options.h"

#include <getopt.h>

#include "base/text.h"
#include "util/xalloc.h"

static int refuse(char **ret_why, char *why)
{
	*ret_why = why;
	return -EINVAL;
}

/* ---- values ---- */

int words_index(const char *words, const char *word)
{
	size_t length = strlen(word);
	int i = 0;

	for (const char *s = words; *s; s += strcspn(s, " "), s += *s == ' ', i++)
		if (strcspn(s, ",") == length && strncmp(s, word, length) == 0)
			return i;
	return -1;
}

static int read_text(const OptionRow *row, const char *value, Options *o, char **ret_why)
{
	if (str_is_empty(value))
		return refuse(ret_why, strf("--%s needs a value", row->name));
	*(const char **)((char *)o + row->at) = value;
	return 0;
}

/* Without a value it is on. */
static int read_peer_access(const OptionRow *row, const char *value, Options *o, char **ret_why)
{
	return read_text(row, value ? value : "on", o, ret_why);
}

static int read_with(const OptionRow *row, const char *value, Options *o, char **ret_why)
{
	if (str_is_empty(value))
		return refuse(ret_why, strf("--%s needs a value", row->name));
	if (o->n_with == WITH_MAX)
		return refuse(ret_why,
			      strf("--%s was given more than %d times", row->name, WITH_MAX));
	o->with[o->n_with++] = value;
	return 0;
}

static int read_flag(const OptionRow *row, _unused_ const char *value, Options *o,
		     _unused_ char **ret_why)
{
	*(bool *)((char *)o + row->at) = !str_starts_with(row->name, "no-");
	return 0;
}

static int read_json(const OptionRow *row, const char *value, Options *o, _unused_ char **ret_why)
{
	if (value)
		o->json = (JsonMode)words_index(row->words, value);
	else
		o->json = isatty(STDOUT_FILENO) == 1 ? JSON_PRETTY : JSON_SHORT;
	return 0;
}

static int read_colour(const OptionRow *row, const char *value, Options *o, _unused_ char **ret_why)
{
	o->colour = (ColourWhen)words_index(row->words, value);
	return 0;
}

static int read_time(const OptionRow *row, const char *time, Options *o, char **ret_why)
{
	switch (duration_parse(time, (uint64_t *)((char *)o + row->at))) {
	case 0:
		return 0;
	case -ERANGE:
		return refuse(ret_why,
			      strf("--%s=%s: must be over 0 and at most a day", row->name, time));
	default:
		return refuse(ret_why, strf("--%s=%s: not a time\n"
					    "Remedy: write it as 30, 30s, 500ms, 2min or 1h",
					    row->name, time));
	}
}

/* ---- the options ---- */

static const OptionRow rows[] = {
#define OF_ALL(letter, name, argument, words, completion, read, member, help)                      \
	{ name, argument, words, completion, help, letter, 0, read, offsetof(Options, member) },
#define OF_SOME(ID, letter, name, argument, words, completion, read, member, help)                 \
	{ name,	       argument, words,                                                            \
	  completion,  help,	 letter,                                                           \
	  OPTION_##ID, read,	 offsetof(Options, member) },
#include "base/option-rows.h"
};

const OptionRow *option_at(size_t i)
{
	return i < ELEMENTS(rows) && rows[i].help ? &rows[i] : NULL;
}

const char *option_name(uint64_t option)
{
	const OptionRow *row = FIND(rows, ELEMENTS(rows), it->verb_option == option);

	return row ? row->name : "?";
}

void options_print_help(const Terminal *t, uint64_t mask)
{
	const OptionRow *row;

	for (size_t i = 0; (row = option_at(i)); i++) {
		char letter[] = "   ", text[64];

		if (mask == 0 ? row->verb_option != 0 : !(row->verb_option & mask))
			continue;
		if (row->letter)
			snprintf(letter, sizeof(letter), "-%c%s", row->letter,
				 row->name ? "," : " ");
		snprintf(text, sizeof(text), "%s%s%s%s", row->name ? "--" : "",
			 row->name ? row->name : "",
			 row->argument && !option_may_lack_value(row) ? "=" : "",
			 row->argument ? row->argument : "");
		fprintf(t->stream, "  %s %-22s %s\n", letter, text, row->help);
	}
}

/* ---- the command line ---- */

/* What getopt_long() returns for an option that has no letter; otherwise it is the letter. */
#define ID_FIRST 0x100

static int id_of(const OptionRow *row)
{
	return row->letter ? row->letter : ID_FIRST + (int)(row - rows);
}

/* NULL: a letter that is none's. */
static const OptionRow *row_of(int id)
{
	return FIND(rows, ELEMENTS(rows), id_of(it) == id);
}

static const char *nearest_option(const char *name, size_t length)
{
	_cleanup_free_ char *wanted = xstrndup(name, length);
	const char *nearest = NULL;
	size_t best = 3;

	for (size_t i = 0; option_at(i); i++) {
		size_t distance = rows[i].name ? text_distance(wanted, rows[i].name) : best;

		if (distance < best && distance * 2 < length) {
			best = distance;
			nearest = rows[i].name;
		}
	}
	return nearest;
}

static bool is_ambiguous(const char *name, size_t length)
{
	return COUNT(rows, ELEMENTS(rows), it->name && strncmp(it->name, name, length) == 0) > 1;
}

static int refuse_long_option(const char *word, char **ret_why)
{
	int length = (int)strcspn(word, "=");
	const char *nearest;

	if (is_ambiguous(word, (size_t)length))
		return refuse(ret_why, strf("--%.*s can mean several options", length, word));
	nearest = nearest_option(word, (size_t)length);
	if (nearest)
		return refuse(ret_why, strf("unknown option --%.*s\nRemedy: did you mean --%s?",
					    length, word, nearest));
	return refuse(ret_why,
		      strf("unknown option --%.*s\nRemedy: see: gpupass --help", length, word));
}

/*
 * getopt_long() returned '?' or ':'. For an unknown long option it leaves 0 in optopt, and the word
 * is the one before optind; otherwise optopt is the letter, or the id, of the misused option.
 */
static int refuse_option(const char *word, int returned, char **ret_why)
{
	const OptionRow *row = row_of(optopt);

	if (optopt == 0)
		return refuse_long_option(word + strlen("--"), ret_why);
	if (!row || !row->name)
		return refuse(ret_why,
			      strf("unknown option -%c\nRemedy: see: gpupass --help", optopt));
	return refuse(ret_why,
		      strf(returned == ':' ? "--%s needs a value%s" : "--%s takes no value%s",
			   row->name, strcmp(row->name, "json") == 0 ? "\nRemedy: use -j" : ""));
}

static int take_option(const OptionRow *row, const char *value, Options *o, char **ret_why)
{
	o->given |= row->verb_option;
	if (row->words && value && words_index(row->words, value) < 0)
		return refuse(ret_why,
			      strf("--%s=%s: not one of %s", row->name, value, row->words));
	return row->read ? row->read(row, value, o, ret_why) : 0;
}

/* getopt_long() takes the beginning of a name for the name. What was typed is what is told of. */
static void note_shortened(const char *word, const struct option *meant, Options *o)
{
	size_t length = strcspn(word, "=");

	if (strlen(meant->name) <= length)
		return;
	o->shortened = row_of(meant->val)->verb_option;
	snprintf(o->typed, sizeof(o->typed), "%.*s", (int)length, word);
}

static void fill_getopt(struct option *to)
{
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].name)
			to[n++] = (struct option){ .name = rows[i].name,
						   .has_arg = option_may_lack_value(&rows[i])
								      ? optional_argument
							      : rows[i].argument ? required_argument
										 : no_argument,
						   .val = id_of(&rows[i]) };
	to[n] = (struct option){ 0 };
}

int options_parse(int argc, char *argv[], Options *ret, char **ret_why)
{
	Options o = { .legend = true, .ask_password = true };
	struct option table[ELEMENTS(rows) + 1];
	int id, r, at = -1;

	fill_getopt(table);
	opterr = 0;
	optopt = 0;
	while ((id = getopt_long(argc, argv, ":jqhH:o:", table, &at)) != -1) {
		/* The value may be a word of its own. */
		if (at >= 0 && id != '?' && id != ':')
			note_shortened(argv[optind - (optarg == argv[optind - 1] ? 2 : 1)] + 2,
				       &table[at], &o);
		at = -1;
		if (id == '?' || id == ':')
			r = refuse_option(argv[optind - 1], id, ret_why);
		else
			r = take_option(row_of(id), optarg, &o, ret_why);
		/* JSON was requested before the mistake, so the mistake is reported in JSON. */
		ret->json = o.json;
		if (r < 0)
			return r;
		optopt = 0;
	}
	o.arguments = argv + optind;
	o.n_arguments = (size_t)(argc - optind);
	*ret = o;
	return 0;
}
