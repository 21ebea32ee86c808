/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "util/xalloc.h"

static int refuse(char **ret_why, char *why)
{
	*ret_why = why;
	return -EINVAL;
}

/* ---- values ---- */

/* The place of a word in "a, b, c"; -1: it is none of them. */
static int word_index(const char *words, const char *word)
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

static int read_flag(const OptionRow *row, _unused_ const char *value, Options *o,
		     _unused_ char **ret_why)
{
	*(bool *)((char *)o + row->at) = !str_starts_with(row->name, "no-");
	return 0;
}

static int read_json(const OptionRow *row, const char *value, Options *o, _unused_ char **ret_why)
{
	if (value)
		o->json = (JsonMode)word_index(row->words, value);
	else
		o->json = isatty(STDOUT_FILENO) == 1 ? JSON_PRETTY : JSON_SHORT;
	return 0;
}

static int read_colour(const OptionRow *row, const char *value, Options *o, _unused_ char **ret_why)
{
	o->colour = (ColourWhen)word_index(row->words, value);
	return 0;
}

static int read_timeout(_unused_ const OptionRow *row, const char *time, Options *o, char **ret_why)
{
	switch (duration_parse(time, &o->timeout_usec)) {
	case 0:
		return 0;
	case -ERANGE:
		return refuse(ret_why,
			      strf("--timeout=%s: must be over 0 and at most a day", time));
	default:
		return refuse(ret_why, strf("--timeout=%s: not a time\n"
					    "Remedy: write it as 30, 30s, 500ms, 2min or 1h",
					    time));
	}
}

/* ---- the options ---- */

#define AT(member) offsetof(Options, member)

static const OptionRow rows[] = {
	{ "json", "MODE", "off, pretty, short", "Print JSON: pretty, short, or off", 0, 0,
	  read_json, 0 },
	{ NULL, NULL, NULL, "Print JSON: pretty on a terminal, otherwise short", 'j', 0, read_json,
	  0 },
	{ "host", "HOST", NULL, "Talk to gpupassd on another host, over ssh", 'H', 0, read_text,
	  AT(host) },
	{ "quiet", NULL, NULL, "No progress and no notes", 'q', 0, read_flag, AT(quiet) },
	{ "color", "WHEN", "auto, always, never", "Colour: auto, always, or never", 0, 0,
	  read_colour, 0 },
	{ "no-legend", NULL, NULL, "No column headings, legend, or hints", 0, 0, read_flag,
	  AT(legend) },
	{ "no-ask-password", NULL, NULL, "Fail instead of asking for a password", 0, 0, read_flag,
	  AT(ask_password) },
	{ "version", NULL, NULL, "Print the version", 0, 0, read_flag, AT(version) },
	{ "help", NULL, NULL, "Print this help", 'h', 0, read_flag, AT(help) },
	{ "columns", "COL[,COL...]", NULL, "Only these columns; +COL adds one, all is all", 'o',
	  OPTION_COLUMNS, read_text, AT(columns) },
	{ "sort", "[-]COL", NULL, "Sort by this column; with -, the other way round", 0,
	  OPTION_SORT, read_text, AT(sort) },
	{ "live", NULL, NULL, "Change the running domain", 0, OPTION_LIVE, NULL, 0 },
	{ "config", NULL, NULL, "Change the domain's definition", 0, OPTION_CONFIG, NULL, 0 },
	{ "model", "MODEL", NULL, "Take only a group of this board", 0, OPTION_MODEL, read_text,
	  AT(model) },
	{ "any", NULL, NULL, "Take any of several free groups", 0, OPTION_ANY, NULL, 0 },
	{ "dry-run", NULL, NULL, "Print the plan, change nothing", 0, OPTION_DRY_RUN, NULL, 0 },
	{ "no-block", NULL, NULL, "Do not wait for the job", 0, OPTION_NO_BLOCK, NULL, 0 },
	{ "timeout", "TIME", NULL, "How long a device or guest may take: 30, 2min", 0,
	  OPTION_TIMEOUT, read_timeout, 0 },
	{ "allow-boot-vga", NULL, NULL, "Also take the host's boot display", 0,
	  OPTION_ALLOW_BOOT_VGA, NULL, 0 },
	{ "no-bridge-seen", NULL, NULL, "You looked: no bridge is on the board", 0,
	  OPTION_NO_BRIDGE_SEEN, NULL, 0 },
	{ "numa", "MODE", "advise, apply, strict", "NUMA placement: advise, apply, or strict", 0,
	  OPTION_NUMA, read_text, AT(numa) },
	{ "fit", "MODE", "advise, apply, strict",
	  "Address space and memory: advise, apply, or strict", 0, OPTION_FIT, read_text, AT(fit) },
	{ "accept-dirty", NULL, NULL, "Root: accept a board that cannot be reset", 0,
	  OPTION_ACCEPT_DIRTY, NULL, 0 },
	{ "keep-vfio", NULL, NULL, "Leave the functions on vfio-pci", 0, OPTION_KEEP_VFIO, NULL,
	  0 },
	{ "persist", NULL, NULL, "Keep it on vfio-pci, also after a release or a boot", 0,
	  OPTION_PERSIST, NULL, 0 },
	{ "release", NULL, NULL, "Plan a release instead", 0, OPTION_RELEASE, NULL, 0 },
	{ "detailed-exitcode", NULL, NULL, "Exit with 10 when there is something to do", 0,
	  OPTION_DETAILED_EXITCODE, NULL, 0 },
	{ "workload", NULL, NULL, "Measure the links, too: it keeps the GPUs busy", 0,
	  OPTION_WORKLOAD, NULL, 0 },
	{ "format", "FORMAT", NULL, "Format of the output: see the verb in gpupass(1)", 0,
	  OPTION_FORMAT, read_text, AT(format) },
	{ "distribution", "NAME", "auto, debian, ubuntu, rhel",
	  "Of the guest: auto, debian, ubuntu, or rhel", 0, OPTION_DISTRIBUTION, read_text,
	  AT(distribution) },
	{ "first", "N", NULL, "Number of the first port or device of the machine", 0, OPTION_FIRST,
	  read_text, AT(first) },
	{ "symptom", "SYMPTOM", "no-nvlink, one-gpu, no-p2p, slow",
	  "no-nvlink, one-gpu, no-p2p, or slow", 0, OPTION_SYMPTOM, read_text, AT(symptom) },
	{ "verbose", NULL, NULL, "Also print checks that passed, or are not known", 0,
	  OPTION_VERBOSE, NULL, 0 },
	{ "bundle", "FILE", NULL, "Write a capture of the host, to send; - is stdout", 0,
	  OPTION_BUNDLE, read_text, AT(bundle) },
	{ "textfile", "FILE", NULL, "Write a file for node_exporter's textfile collector", 0,
	  OPTION_TEXTFILE, read_text, AT(textfile) },
	{ "mmio", NULL, NULL, "Also read registers of Hopper GPUs not on nvidia", 0, OPTION_MMIO,
	  NULL, 0 },
	{ "since", "TIME", NULL, "From then: 2026-01-31 14:02, or 2h: so long ago", 0, OPTION_SINCE,
	  read_text, AT(since) },
	{ "until", "TIME", NULL, "Up to then", 0, OPTION_UNTIL, read_text, AT(until) },
	{ "group", "GROUP", NULL, "Only what is about this group", 0, OPTION_GROUP, read_text,
	  AT(group) },
	{ "domain", "DOMAIN", NULL, "Only what is about this domain", 0, OPTION_DOMAIN, read_text,
	  AT(domain) },
	{ "user", "USER", NULL, "Only what this user did, by uid or login uid", 0, OPTION_USER,
	  read_text, AT(user) },
	{ "job", "ID", NULL, "Only what is about this job", 0, OPTION_JOB, read_text, AT(job) },
	{ "holders", NULL, NULL, "Who has the GPUs' files open, and who had", 0, OPTION_HOLDERS,
	  NULL, 0 },
	{ "follow", NULL, NULL, "Print records as they come", 0, OPTION_FOLLOW, NULL, 0 },
	{ "verify", NULL, NULL, "Root: check that the trail is whole", 0, OPTION_VERIFY, NULL, 0 },
	{ "expect", "HASH", NULL, "A hash noted earlier, which must be there", 0, OPTION_EXPECT,
	  read_text, AT(expect) },
	{ "trail", "DIR", NULL, "Check files in another directory", 0, OPTION_TRAIL, read_text,
	  AT(trail) },
	/* For development, not shown. */
	{ "session", NULL, NULL, NULL, 0, 0, read_flag, AT(session) },
	{ "domain-definitions", "DIR", NULL, NULL, 0, 0, read_text, AT(definitions) },
};

const OptionRow *option_at(size_t i)
{
	return i < ELEMENTS(rows) && rows[i].help ? &rows[i] : NULL;
}

const char *option_name(uint64_t option)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].verb_option == option)
			return rows[i].name;
	return "?";
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
			 row->name ? row->name : "", row->argument ? "=" : "",
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
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (id_of(&rows[i]) == id)
			return &rows[i];
	return NULL;
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
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].name && strncmp(rows[i].name, name, length) == 0)
			n++;
	return n > 1;
}

/* Options that went, and what does it instead. */
static const struct {
	const char *name, *instead;
} gone[] = {
	{ .name = "hosts-file", .instead = "ask several hosts with clush, as FLEET.md shows" },
	{ .name = "no-pager",
	  .instead = "leave it out: nothing is paged but by: gpupass list | less" },
	{ .name = "watch", .instead = "watch gpupass list; for events: gpupass monitor" },
};

static int refuse_long_option(const char *word, char **ret_why)
{
	int length = (int)strcspn(word, "=");
	const char *nearest;

	for (size_t i = 0; i < ELEMENTS(gone); i++)
		if (strlen(gone[i].name) == (size_t)length &&
		    strncmp(gone[i].name, word, (size_t)length) == 0)
			return refuse(ret_why, strf("--%s is gone\nRemedy: %s", gone[i].name,
						    gone[i].instead));
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
	if (row->words && word_index(row->words, value) < 0)
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
						   .has_arg = rows[i].argument ? required_argument
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
