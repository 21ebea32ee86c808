/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass complete -- WORD… CURRENT: what can stand as the last word of a command line that begins
 * with these words. The completions of bash, zsh and fish call it once for each completion, and
 * know nothing of gpupass themselves, so that they know all verbs and options.
 *
 * The first line of the output is what comes, and what of the last word stays before it:
 *	words        each further line is a word, a tab, and a description
 *	files=PRE    the shell's own names of files behind PRE; and directories, hosts, users
 *	unknown      this file has no row for the option or argument
 */
#include "verbs/complete.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/host-name.h"
#include "base/text.h"
#include "util/xalloc.h"
#include "verbs/list.h"

/* A key that was pressed gets an answer, or none. */
#define PATIENCE_SECONDS 5

/* ---- what is typed ---- */

/* By name, where `length` bytes of it count, or by letter; NULL: there is none. */
static const OptionRow *find_option(const char *name, size_t length, char letter)
{
	const OptionRow *row;

	for (size_t i = 0; (row = option_at(i)); i++)
		if ((letter && row->letter == letter) ||
		    (name && row->name && strncmp(row->name, name, length) == 0 &&
		     row->name[length] == '\0'))
			return row;
	return NULL;
}

static void read_argument(TypedLine *line, const char *word)
{
	if (line->verb || line->unknown) {
		line->n_arguments++;
		return;
	}
	line->verb = verb_find(word);
	line->unknown = !line->verb;
}

static void take_value(TypedLine *line, const char *value)
{
	if (line->option->letter == 'H')
		line->host = value;
	line->option = NULL;
}

static void read_long(TypedLine *line, const char *word)
{
	size_t length = strcspn(word, "=");
	const OptionRow *option = find_option(word, length, '\0');

	if (!option)
		return;
	line->release |= option->verb_option == OPTION_RELEASE;
	if (!option->argument)
		return;
	line->option = option;
	if (word[length] == '=')
		take_value(line, word + length + 1);
}

static void read_letters(TypedLine *line, const char *letters)
{
	for (; *letters; letters++) {
		const OptionRow *option = find_option(NULL, 0, *letters);

		if (option && option->argument) {
			line->option = option;
			if (letters[1])
				take_value(line, letters + 1);
			return;
		}
	}
}

static void read_line(char *const *words, size_t n_words, TypedLine *ret)
{
	TypedLine line = { .word = n_words > 0 ? words[n_words - 1] : "" };

	for (size_t i = 1; i + 1 < n_words; i++) {
		const char *word = words[i];

		if (line.option)
			take_value(&line, word);
		else if (line.arguments_only || word[0] != '-' || !word[1])
			read_argument(&line, word);
		else if (strcmp(word, "--") == 0)
			line.arguments_only = true;
		else if (word[1] == '-')
			read_long(&line, word + 2);
		else
			read_letters(&line, word + 1);
	}
	*ret = line;
}

/* ---- values of options ---- */

typedef struct ValueRow {
	const char *option;
	const char *verb;  /* NULL: of every verb that has it */
	const char *shell; /* what the shell knows: files, directories, hosts, users */
	const char *kinds; /* what gpupassd knows, as in a usage line */
	const char *words; /* "" for what nobody knows */
} ValueRow;

static const ValueRow values[] = {
	{ .option = "host", .shell = "hosts" },
	{ .option = "format", .verb = "topology", .words = "matrix, tree, svg" },
	{ .option = "format", .verb = "metrics", .words = "openmetrics, prometheus" },
	{ .option = "format",
	  .verb = "export",
	  .words = "cloud-init, libvirt, qemu, cloud-hypervisor, esxi, kubevirt, nova, proxmox" },
	{ .option = "first", .words = "" },
	{ .option = "textfile", .shell = "files" },
	{ .option = "model", .kinds = "MODEL" },
	{ .option = "group", .kinds = "GROUP" },
	{ .option = "domain", .kinds = "DOMAIN" },
	{ .option = "job", .kinds = "JOB" },
	{ .option = "user", .shell = "users" },
	{ .option = "bundle", .shell = "files" },
	{ .option = "trail", .shell = "directories" },
	{ .option = "timeout", .words = "" },
	{ .option = "since", .words = "" },
	{ .option = "until", .words = "" },
	{ .option = "expect", .words = "" },
};

static void unknown(Client *c)
{
	fputs("unknown\n", c->out.stream);
}

static void print_list(const WordPrinter *p, const char *list)
{
	for (const char *s = list; *s; s += strcspn(s, " "), s += *s == ' ') {
		_cleanup_free_ char *word = xstrndup(s, strcspn(s, ", "));

		words_print(p, word, "");
	}
}

static void print_columns(const WordPrinter *p, const ColumnKind *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = xstrdup(kinds[i].name);

		for (char *s = name; *s; s++)
			*s = (char)tolower((unsigned char)*s);
		words_print(p, name, "");
	}
}

/* The names that are there already stay before the next one: "group,gpus". */
static void complete_columns(WordPrinter *p, const TypedLine *line, const char *typed, bool several)
{
	const char *comma = several ? strrchr(typed, ',') : NULL;
	size_t kept = comma ? (size_t)(comma + 1 - typed) : *typed == '+' || *typed == '-' ? 1 : 0;
	_cleanup_free_ char *prefix = strf("%s%.*s", p->prefix, (int)kept, typed);
	const ColumnKind *kinds;
	size_t n;

	kinds = line->verb && line->verb->run == verb_jobs ? jobs_columns(&n) : list_columns(&n);
	p->prefix = prefix;
	fputs("words\n", p->client->out.stream);
	print_columns(p, kinds, n);
	if (several && kept == 0)
		words_print(p, "all", "");
	p->prefix = "";
}

static void complete_value(WordPrinter *p, const TypedLine *line, const OptionRow *option,
			   const char *typed)
{
	FILE *f = p->client->out.stream;

	if (option->words) {
		fputs("words\n", f);
		print_list(p, option->words);
		return;
	}
	for (size_t i = 0; i < ELEMENTS(values); i++) {
		const ValueRow *row = &values[i];

		if (strcmp(row->option, option->name) != 0 ||
		    (row->verb && (!line->verb || strcmp(row->verb, line->verb->name) != 0)))
			continue;
		if (row->shell) {
			fprintf(f, "%s=%s\n", row->shell, p->prefix);
			return;
		}
		fputs("words\n", f);
		if (row->kinds)
			words_of_daemon(p, row->kinds, false);
		else
			print_list(p, row->words);
		return;
	}
	if (option->verb_option == OPTION_COLUMNS || option->verb_option == OPTION_SORT)
		complete_columns(p, line, typed, option->verb_option == OPTION_COLUMNS);
	else
		unknown(p->client);
}

/* ---- verbs, options, arguments ---- */

static void complete_verb(const WordPrinter *p)
{
	const Verb *verb;

	fputs("words\n", p->client->out.stream);
	for (size_t i = 0; (verb = verb_at(i)); i++)
		words_print(p, verb->name, verb->help);
}

static void complete_option(const WordPrinter *p, const TypedLine *line)
{
	const OptionRow *option;

	fputs("words\n", p->client->out.stream);
	for (size_t i = 0; (option = option_at(i)); i++) {
		_cleanup_free_ char *name = NULL;

		if (option->verb_option &&
		    (!line->verb || !(line->verb->options & option->verb_option)))
			continue;
		name = option->name ? strf("--%s%s", option->name, option->argument ? "=" : "")
				    : NULL;
		if (name)
			words_print(p, name, option->help);
		if (option->letter)
			words_print(p, (char[]){ '-', option->letter, '\0' }, option->help);
	}
}

/* The n-th word of "DOMAIN [GROUP...]" without its signs; "" behind the last. New. */
static char *usage_word(const char *usage, size_t n)
{
	const char *s = usage;

	for (size_t i = 0; i < n; i++) {
		size_t length = strcspn(s, " ");

		if (memmem(s, length, "...", 3))
			break;
		s += length + (s[length] == ' ');
	}
	s += *s == '[';
	return xstrndup(s, strcspn(s, " ]."));
}

static void complete_argument(const WordPrinter *p, const TypedLine *line)
{
	const Verb *verb = line->verb;
	const char *usage = line->release ? "GROUP|DOMAIN" : verb->usage;
	_cleanup_free_ char *kinds = usage_word(usage, line->n_arguments);

	if (strcmp(kinds, "VERB") == 0) {
		complete_verb(p);
	} else if (!words_are_known(kinds)) {
		unknown(p->client);
	} else {
		fputs("words\n", p->client->out.stream);
		/* Those with '|' have only domains with a group to act on. */
		if (*kinds)
			words_of_daemon(p, kinds, verb->run == verb_verify || strchr(kinds, '|'));
	}
}

static void complete(WordPrinter *p, const TypedLine *line)
{
	const char *word = line->word;
	size_t length = strcspn(word, "=");
	bool dashed = !line->arguments_only && word[0] == '-', is_long = dashed && word[1] == '-';
	const OptionRow *option = NULL;
	_cleanup_free_ char *prefix = NULL;

	if (line->option) {
		complete_value(p, line, line->option, word);
		return;
	}
	if (is_long && word[length] == '=') {
		option = find_option(word + 2, length++ - 2, '\0');
		if (!option) {
			unknown(p->client);
			return;
		}
	} else if (dashed && !is_long && word[1] && word[2]) {
		option = find_option(NULL, 0, word[1]);
		length = 2;
	}
	if (option && option->argument) {
		prefix = xstrndup(word, length);
		p->prefix = prefix;
		complete_value(p, line, option, word + length);
	} else if (dashed) {
		complete_option(p, line);
	} else if (line->verb) {
		complete_argument(p, line);
	} else if (!line->unknown) {
		complete_verb(p);
	}
}

static void give_up(_unused_ int signal_number)
{
	_exit(0);
}

int verb_complete(Client *c, char *const *arguments, size_t n_arguments)
{
	Options options = *c->options;
	WordPrinter printer = { .client = c, .prefix = "", .definitions = options.definitions };
	const Options *saved = c->options;
	TypedLine line;

	read_line(arguments, n_arguments, &line);
	/* Names as they are, not as they are printed. */
	options.json = JSON_SHORT;
	options.ask_password = false;
	if (line.host && !host_name_is_valid(line.host))
		return GPUPASS_EXIT_DONE;
	options.host = line.host;
	c->options = &options;
	/* Without a terminal and a window ssh asks nobody, where a password would be needed. */
	if (line.host && (setsid() < 0 || setenv("SSH_ASKPASS_REQUIRE", "never", 1) < 0)) {
		unknown(c);
		return 0;
	}
	signal(SIGALRM, give_up);
	alarm(PATIENCE_SECONDS);
	complete(&printer, &line);
	c->options = saved;
	return GPUPASS_EXIT_DONE;
}
