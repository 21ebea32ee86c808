/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass complete -- WORD… CURRENT: what can stand as the last word of a command line that begins
 * with these words. The completions of bash, zsh and fish call it once for each completion, and
 * know nothing of gpupass themselves, so that they know all verbs and options.
 *
 * The first line of the output is what comes, and what of the last word stays before it:
 *	words        each further line is a word, a tab, and a description
 *	files=PRE    the shell's own names of files behind PRE; and directories, hosts, users
 *	unknown      nothing says what the option or argument may be
 */
#include <ctype.h>
#include <inttypes.h>
#include <signal.h>

#include "base/host-name.h"
#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "gpupass/dbus.h"
#include "model/model.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* A key that was pressed gets an answer, or none. */
#define PATIENCE_SECONDS 5
#define SUFFIX ".xml"
#define DEFINITIONS_MAX 10000

/* ---- words, and names of what gpupassd and libvirt have ---- */

/* Prints words, each with `prefix` before it. */
typedef struct WordPrinter {
	Client *client;
	const Verb *verbs;
	size_t n_verbs;
	const char *prefix;
	bool held;		 /* of domains only those that have a group */
	const char *definitions; /* where libvirt has domains; NULL: the usual folders */
} WordPrinter;

/* Names with control characters cannot be typed, and would be others after they were cleaned. */
static bool is_plain(const char *text)
{
	_cleanup_free_ char *clean = text_printable(text);

	return *text && strcmp(clean, text) == 0;
}

static void print_word(const WordPrinter *p, const char *word, const char *description)
{
	_cleanup_free_ char *clean = text_printable(description);

	if (is_plain(word))
		fprintf(p->client->out.stream, "%s%s\t%s\n", p->prefix, word, clean);
}

static void print_groups(const WordPrinter *p, const World *w)
{
	EACH (const Group, g, w->groups, w->n_groups) {
		_cleanup_free_ char *summary = group_summary(&p->client->out, g);
		_cleanup_free_ char *state = group_state_text(g);
		_cleanup_free_ char *text = strf("%s, %s", summary, state);

		print_word(p, g->name, text);
	}
}

static void print_gpus(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_gpus; i++)
		print_word(p, w->gpus[i].address, w->gpus[i].model);
}

static void print_models(const WordPrinter *p, const World *w)
{
	for (size_t i = 0; i < w->n_groups; i++)
		if (!SOME(w->groups, i, strcmp(it->model, w->groups[i].model) == 0))
			print_word(p, w->groups[i].model, "");
}

static void print_jobs(const WordPrinter *p, const World *w)
{
	EACH (const Job, job, w->jobs, w->n_jobs) {
		_cleanup_free_ char *id = strf("%" PRIu32, job->id);
		_cleanup_free_ char *text =
			strf("%s %s, %s", job->operation, job->group_name, job->state);

		print_word(p, id, text);
	}
}

/* A name once, with its first group. */
static const Group *group_of(const World *w, const char *domain)
{
	return FIND(w->groups, w->n_groups, strcmp(it->domain_name, domain) == 0);
}

static void print_held(const WordPrinter *p, const World *w)
{
	EACH (const Group, g, w->groups, w->n_groups) {
		_cleanup_free_ char *text = strf("domain, has %s", g->name);

		if (group_of(w, g->domain_name) == g)
			print_word(p, g->domain_name, text);
	}
}

/*
 * libvirt has one file a domain, NAME.xml, here those that are defined and there those that run.
 * Reading names is quick; virsh takes half a second to list them. Users who may not read the
 * folder are offered domains that have a group.
 */
static void print_defined(const WordPrinter *p, const World *w, const char *path)
{
	struct dirent *entry;
	size_t n = 0;
	DIR *dir;

	dir = opendir(path);
	while (dir && n++ < DEFINITIONS_MAX && (entry = readdir(dir))) {
		if (!str_ends_with(entry->d_name, SUFFIX) ||
		    strlen(entry->d_name) == strlen(SUFFIX))
			continue;
		entry->d_name[strlen(entry->d_name) - strlen(SUFFIX)] = '\0';
		if (!group_of(w, entry->d_name))
			print_word(p, entry->d_name, "domain");
	}
	if (dir)
		closedir(dir);
}

static void print_domains(const WordPrinter *p, const World *w)
{
	const Options *o = p->client->options;

	print_held(p, w);
	if (p->held || o->host || (o->session && !p->definitions))
		return;
	print_defined(p, w, p->definitions ? p->definitions : "/etc/libvirt/qemu");
	if (!p->definitions)
		print_defined(p, w, "/run/libvirt/qemu");
}

/* What no group has, as gpupass topology shows it. */
static void print_companions(const WordPrinter *p, const World *w)
{
	static const DocumentKind kind = DOCUMENT_KIND("the topology", TOPOLOGY);
	_cleanup_(json_decrefp) json_t *document = NULL;
	const json_t *item;

	for (int i = 0; i < 3; i++)
		print_word(p, (const char *[]){ "nearest:nic", "nearest:vf", "nearest:nvme" }[i],
			   "by PCIe, of those that no group has");
	if (w->n_gpus > 0)
		(void)document_get(p->client, "GetTopology", BUS_TIMEOUT_READ_USEC, &kind,
				   &document);
	client_forgive(p->client);
	JSON_EACH (item, document, "companions") {
		_cleanup_free_ char *word =
			strf("%s:%s", json_text_of(item, "kind"), json_text_of(item, "address"));

		if (!*json_text_of(item, "group"))
			print_word(p, word, json_text_of(item, "driver"));
	}
}

/* Asking would start it: a key that was pressed should not. */
static bool daemon_is_there(Client *c)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int there = 0;

	return bus_connect(c) >= 0 &&
	       sd_bus_call_method(c->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
				  "org.freedesktop.DBus", "NameHasOwner", NULL, &reply, "s",
				  GPUPASS_BUS_NAME) >= 0 &&
	       sd_bus_message_read(reply, "b", &there) >= 0 && there;
}

static void unknown(Client *c)
{
	fputs("unknown\n", c->out.stream);
}

/* What stands for a word of a usage line, such as GROUP|DOMAIN; "" for nothing. */
static void complete_names(const WordPrinter *p, const char *kinds)
{
	static const struct {
		const char *name;
		void (*print)(const WordPrinter *p, const World *w); /* NULL: nobody knows them */
	} known[] = {
		{ "GROUP", print_groups }, { "NAME", print_groups },
		{ "GPU", print_gpus },	   { "DOMAIN", print_domains },
		{ "MODEL", print_models }, { "ID", print_jobs },
		{ "JOB", print_jobs },	   { "VMID", NULL },
		{ "PHASE", NULL },	   { "COMPANION", print_companions },
	};
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_strv_ char **names = NULL;
	size_t n_known = 0;

	strv_split(kinds, "|", &names);
	n_known += COUNT(known, ELEMENTS(known), strv_contains(names, it->name));
	if (n_known < strv_length(names)) {
		unknown(p->client);
		return;
	}
	fputs("words\n", p->client->out.stream);
	if (names && (!daemon_is_there(p->client) || world_load(p->client, &w) < 0))
		client_forgive(p->client); /* then there are domains at most */
	for (size_t i = 0; i < ELEMENTS(known); i++)
		if (known[i].print && strv_contains(names, known[i].name))
			known[i].print(p, &w);
}

/* ---- what is typed ---- */

/* What an unfinished command line says so far. */
typedef struct TypedLine {
	const Verb *verb;    /* NULL: none yet */
	bool unknown;	     /* there is a verb, which is none */
	size_t n_arguments;  /* complete ones behind the verb */
	bool release;	     /* --release */
	bool arguments_only; /* behind "--" */
	const char *host;
	const OptionRow *option; /* whose value the last word is; NULL: it is none's */
	const char *word;	 /* the last one */
} TypedLine;

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

static void read_argument(const WordPrinter *p, TypedLine *line, const char *word)
{
	if (line->verb || line->unknown) {
		line->n_arguments++;
		return;
	}
	line->verb = FIND(p->verbs, p->n_verbs, strcmp(it->name, word) == 0);
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
	if (!option->argument || (option_may_lack_value(option) && word[length] != '='))
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

static TypedLine read_line(const WordPrinter *p, char *const *words, size_t n_words)
{
	TypedLine line = { .word = n_words > 0 ? words[n_words - 1] : "" };

	for (size_t i = 1; i + 1 < n_words; i++) {
		const char *word = words[i];

		if (line.option)
			take_value(&line, word);
		else if (line.arguments_only || word[0] != '-' || !word[1])
			read_argument(p, &line, word);
		else if (strcmp(word, "--") == 0)
			line.arguments_only = true;
		else if (word[1] == '-')
			read_long(&line, word + 2);
		else
			read_letters(&line, word + 1);
	}
	return line;
}

/* ---- values of options ---- */

static void print_list(const WordPrinter *p, const char *list)
{
	for (const char *s = list; *s; s += strcspn(s, " "), s += *s == ' ') {
		_cleanup_free_ char *word = xstrndup(s, strcspn(s, ", "));

		print_word(p, word, "");
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

	/* No verb is list. */
	kinds = (line->verb && line->verb->columns ? line->verb->columns : list_columns)(&n);
	p->prefix = prefix;
	fputs("words\n", p->client->out.stream);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = text_lower(kinds[i].name);

		print_word(p, name, "");
	}
	if (several && kept == 0)
		print_word(p, "all", "");
	p->prefix = "";
}

static void complete_value(WordPrinter *p, const TypedLine *line, const OptionRow *option,
			   const char *typed)
{
	_cleanup_free_ char *formats =
		line->verb && line->verb->formats && option->verb_option == OPTION_FORMAT
			? line->verb->formats()
			: NULL;
	const char *completion = option->completion;
	FILE *f = p->client->out.stream;

	if (option->verb_option == OPTION_COLUMNS || option->verb_option == OPTION_SORT) {
		complete_columns(p, line, typed, option->verb_option == OPTION_COLUMNS);
	} else if (formats || option->words) {
		fputs("words\n", f);
		print_list(p, formats ? formats : option->words);
	} else if (!completion) {
		unknown(p->client);
	} else if (islower((unsigned char)*completion)) {
		fprintf(f, "%s=%s\n", completion, p->prefix);
	} else {
		complete_names(p, completion);
	}
}

/* ---- verbs, options, arguments ---- */

static void complete_verb(const WordPrinter *p)
{
	fputs("words\n", p->client->out.stream);
	for (size_t i = 0; i < p->n_verbs; i++)
		print_word(p, p->verbs[i].name, p->verbs[i].help);
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
		name = option->name
			       ? strf("--%s%s", option->name,
				      option->argument && !option_may_lack_value(option) ? "=" : "")
			       : NULL;
		if (name)
			print_word(p, name, option->help);
		if (option->letter)
			print_word(p, (char[]){ '-', option->letter, '\0' }, option->help);
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

static void complete_argument(WordPrinter *p, const TypedLine *line)
{
	const char *usage = line->release ? "GROUP|DOMAIN" : line->verb->usage;
	_cleanup_free_ char *word = usage_word(usage, line->n_arguments);

	/* Those with '|' have only domains with a group to act on. */
	p->held = line->verb->run == verb_verify || strchr(word, '|');
	if (strcmp(word, "VERB") == 0)
		complete_verb(p);
	else
		complete_names(p, word);
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

int verbs_complete(Client *c, const Verb *verbs, size_t n_verbs, char *const *words, size_t n_words)
{
	Options options = *c->options;
	WordPrinter printer = { .client = c,
				.verbs = verbs,
				.n_verbs = n_verbs,
				.prefix = "",
				.definitions = options.definitions };
	TypedLine line = read_line(&printer, words, n_words);
	const Options *saved = c->options;

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
