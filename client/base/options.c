/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/options.h"

#include <getopt.h>
#include <string.h>

#include "base/text.h"

/* The values that getopt_long() returns for options; options with a letter return the letter. */
typedef enum OptionId {
	ID_JSON = 0x100,
	ID_COLOUR,
	ID_SESSION,
	ID_NO_LEGEND,
	ID_NO_ASK_PASSWORD,
	ID_VERSION,
	ID_LIVE,
	ID_CONFIG,
	ID_MODEL,
	ID_DRY_RUN,
	ID_NO_BLOCK,
	ID_TIMEOUT,
	ID_ALLOW_BOOT_VGA,
	ID_NO_BRIDGE_SEEN,
	ID_KEEP_VFIO,
	ID_RELEASE,
	ID_DETAILED_EXITCODE,
	ID_FORMAT,
	ID_SYMPTOM,
	ID_VERBOSE,
	ID_MMIO,
	ID_NUMA,
	ID_FIT,
	ID_ACCEPT_DIRTY,
	ID_SINCE,
	ID_UNTIL,
	ID_GROUP,
	ID_DOMAIN,
	ID_USER,
	ID_JOB,
	ID_HOLDERS,
	ID_FOLLOW,
	ID_VERIFY,
	ID_EXPECT,
	ID_TRAIL,
	ID_PERSIST,
	ID_BUNDLE,
	ID_TEXTFILE,
	ID_WORKLOAD,
	ID_DISTRIBUTION,
	ID_FIRST,
	ID_SORT,
	ID_DEFINITIONS,
	ID_ANY,
} OptionId;

typedef struct OptionRow {
	const char *name;
	const char *argument; /* NULL: takes no value */
	const char *help;     /* NULL: for development, not shown */
	int id;
	uint64_t verb_option; /* VerbOption; 0: for every verb */
} OptionRow;

static const OptionRow rows[] = {
	{ "json", "MODE", "Print JSON: pretty, short, or off", ID_JSON, 0 },
	{ NULL, NULL, "Print JSON: pretty on a terminal, otherwise short", 'j', 0 },
	{ "host", "HOST", "Talk to gpupassd on another host, over ssh", 'H', 0 },
	{ "quiet", NULL, "No progress and no notes", 'q', 0 },
	{ "color", "WHEN", "Colour: auto, always, or never", ID_COLOUR, 0 },
	{ "no-legend", NULL, "No column headings, legend, or hints", ID_NO_LEGEND, 0 },
	{ "no-ask-password", NULL, "Fail instead of asking for a password", ID_NO_ASK_PASSWORD, 0 },
	{ "version", NULL, "Print the version", ID_VERSION, 0 },
	{ "help", NULL, "Print this help", 'h', 0 },
	{ "session", NULL, NULL, ID_SESSION, 0 },
	{ "domain-definitions", "DIR", NULL, ID_DEFINITIONS, 0 },
	{ "columns", "COL[,COL...]", "Only these columns; +COL adds one, all is all", 'o',
	  OPTION_COLUMNS },
	{ "sort", "[-]COL", "Sort by this column; with -, the other way round", ID_SORT,
	  OPTION_SORT },
	{ "live", NULL, "Change the running domain", ID_LIVE, OPTION_LIVE },
	{ "config", NULL, "Change the domain's definition", ID_CONFIG, OPTION_CONFIG },
	{ "model", "MODEL", "Take only a group of this board", ID_MODEL, OPTION_MODEL },
	{ "any", NULL, "Take any of several free groups", ID_ANY, OPTION_ANY },
	{ "dry-run", NULL, "Print the plan, change nothing", ID_DRY_RUN, OPTION_DRY_RUN },
	{ "no-block", NULL, "Do not wait for the job", ID_NO_BLOCK, OPTION_NO_BLOCK },
	{ "timeout", "TIME", "How long a device or guest may take: 30, 2min", ID_TIMEOUT,
	  OPTION_TIMEOUT },
	{ "allow-boot-vga", NULL, "Also take the host's boot display", ID_ALLOW_BOOT_VGA,
	  OPTION_ALLOW_BOOT_VGA },
	{ "no-bridge-seen", NULL, "You looked: no bridge is on the board", ID_NO_BRIDGE_SEEN,
	  OPTION_NO_BRIDGE_SEEN },
	{ "numa", "MODE", "NUMA placement: advise, apply, or strict", ID_NUMA, OPTION_NUMA },
	{ "fit", "MODE", "Address space and memory: advise, apply, or strict", ID_FIT, OPTION_FIT },
	{ "accept-dirty", NULL, "Root: accept a board that cannot be reset", ID_ACCEPT_DIRTY,
	  OPTION_ACCEPT_DIRTY },
	{ "keep-vfio", NULL, "Leave the functions on vfio-pci", ID_KEEP_VFIO, OPTION_KEEP_VFIO },
	{ "persist", NULL, "Keep it on vfio-pci, also after a release or a boot", ID_PERSIST,
	  OPTION_PERSIST },
	{ "release", NULL, "Plan a release instead", ID_RELEASE, OPTION_RELEASE },
	{ "detailed-exitcode", NULL, "Exit with 10 when there is something to do",
	  ID_DETAILED_EXITCODE, OPTION_DETAILED_EXITCODE },
	{ "workload", NULL, "Measure the links, too: it keeps the GPUs busy", ID_WORKLOAD,
	  OPTION_WORKLOAD },
	{ "format", "FORMAT", "Format of the output: see the verb in gpupass(1)", ID_FORMAT,
	  OPTION_FORMAT },
	{ "distribution", "NAME", "Of the guest: auto, debian, ubuntu, or rhel", ID_DISTRIBUTION,
	  OPTION_DISTRIBUTION },
	{ "first", "N", "Number of the first port or device of the machine", ID_FIRST,
	  OPTION_FIRST },
	{ "symptom", "SYMPTOM", "no-nvlink, one-gpu, no-p2p, or slow", ID_SYMPTOM, OPTION_SYMPTOM },
	{ "verbose", NULL, "Also print checks that passed, or are not known", ID_VERBOSE,
	  OPTION_VERBOSE },
	{ "bundle", "FILE", "Write a capture of the host, to send; - is stdout", ID_BUNDLE,
	  OPTION_BUNDLE },
	{ "textfile", "FILE", "Write a file for node_exporter's textfile collector", ID_TEXTFILE,
	  OPTION_TEXTFILE },
	{ "mmio", NULL, "Also read registers of Hopper GPUs not on nvidia", ID_MMIO, OPTION_MMIO },
	{ "since", "TIME", "From then: 2026-01-31 14:02, or 2h: so long ago", ID_SINCE,
	  OPTION_SINCE },
	{ "until", "TIME", "Up to then", ID_UNTIL, OPTION_UNTIL },
	{ "group", "GROUP", "Only what is about this group", ID_GROUP, OPTION_GROUP },
	{ "domain", "DOMAIN", "Only what is about this domain", ID_DOMAIN, OPTION_DOMAIN },
	{ "user", "USER", "Only what this user did, by uid or login uid", ID_USER, OPTION_USER },
	{ "job", "ID", "Only what is about this job", ID_JOB, OPTION_JOB },
	{ "holders", NULL, "Who has the GPUs' files open, and who had", ID_HOLDERS,
	  OPTION_HOLDERS },
	{ "follow", NULL, "Print records as they come", ID_FOLLOW, OPTION_FOLLOW },
	{ "verify", NULL, "Root: check that the trail is whole", ID_VERIFY, OPTION_VERIFY },
	{ "expect", "HASH", "A hash noted earlier, which must be there", ID_EXPECT, OPTION_EXPECT },
	{ "trail", "DIR", "Check files in another directory", ID_TRAIL, OPTION_TRAIL },
};

const char *option_name(uint64_t option)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].verb_option == option)
			return rows[i].name;
	return "?";
}

bool options_info(size_t i, OptionInfo *ret)
{
	for (size_t row = 0; row < ELEMENTS(rows); row++)
		if (rows[row].help && i-- == 0) {
			*ret = (OptionInfo){
				.name = rows[row].name,
				.letter = rows[row].id < ID_JSON ? (char)rows[row].id : '\0',
				.takes_value = rows[row].argument,
				.help = rows[row].help,
				.verb_option = rows[row].verb_option,
			};
			return true;
		}
	return false;
}

void options_print_help(const Terminal *t, uint64_t mask)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const OptionRow *row = &rows[i];
		char letter[] = "   ", text[64];

		if (!row->help || (mask == 0 ? row->verb_option != 0 : !(row->verb_option & mask)))
			continue;
		if (row->id < ID_JSON)
			snprintf(letter, sizeof(letter), "-%c%s", row->id, row->name ? "," : " ");
		snprintf(text, sizeof(text), "%s%s%s%s", row->name ? "--" : "",
			 row->name ? row->name : "", row->argument ? "=" : "",
			 row->argument ? row->argument : "");
		fprintf(t->stream, "  %s %-22s %s\n", letter, text, row->help);
	}
}

static int refuse(char **ret_why, char *why)
{
	if (!why)
		return -ENOMEM;
	*ret_why = why;
	return -EINVAL;
}

static int parse_json(const char *mode, Options *o, char **ret_why)
{
	if (strcmp(mode, "pretty") == 0)
		o->json = JSON_PRETTY;
	else if (strcmp(mode, "short") == 0)
		o->json = JSON_SHORT;
	else if (strcmp(mode, "off") == 0)
		o->json = JSON_OFF;
	else
		return refuse(
			ret_why,
			strf("--json=%s: no such form\nRemedy: one of pretty, short, off; or -j",
			     mode));
	return 0;
}

static int parse_colour(const char *when, Options *o, char **ret_why)
{
	if (strcmp(when, "auto") == 0)
		o->colour = COLOUR_AUTO;
	else if (strcmp(when, "always") == 0)
		o->colour = COLOUR_ALWAYS;
	else if (strcmp(when, "never") == 0)
		o->colour = COLOUR_NEVER;
	else
		return refuse(ret_why, strf("--color=%s: not one of auto, always, never", when));
	return 0;
}

static int parse_mode(const char *mode, const char *option, const char **to, char **ret_why)
{
	if (strcmp(mode, "advise") != 0 && strcmp(mode, "apply") != 0 &&
	    strcmp(mode, "strict") != 0)
		return refuse(ret_why,
			      strf("--%s=%s: not one of advise, apply, strict", option, mode));
	*to = mode;
	return 0;
}

static int parse_timeout(const char *time, Options *o, char **ret_why)
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

static int parse_symptom(const char *symptom, Options *o, char **ret_why)
{
	static const char *const symptoms[] = { "no-nvlink", "one-gpu", "no-p2p", "slow" };

	for (size_t i = 0; i < ELEMENTS(symptoms); i++)
		if (strcmp(symptom, symptoms[i]) == 0) {
			o->symptom = symptom;
			return 0;
		}
	return refuse(
		ret_why,
		strf("--symptom=%s: no such symptom\nRemedy: one of no-nvlink, one-gpu, no-p2p, slow",
		     symptom));
}

static const char *nearest_option(const char *name, size_t length)
{
	_cleanup_free_ char *wanted = strndup(name, length);
	const char *nearest = NULL;
	size_t best = 3;

	for (size_t i = 0; wanted && i < ELEMENTS(rows); i++) {
		size_t distance;

		if (!rows[i].help || !rows[i].name)
			continue;
		distance = text_distance(wanted, rows[i].name);
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
	{ "hosts-file", "ask several hosts with clush, as FLEET.md shows" },
	{ "no-pager", "leave it out: nothing is paged but by: gpupass list | less" },
	{ "watch", "watch gpupass list; for events: gpupass monitor" },
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
	if (optopt == 0)
		return refuse_long_option(word + strlen("--"), ret_why);
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].id == optopt && rows[i].name)
			return refuse(ret_why,
				      strf(returned == ':' ? "--%s needs a value%s"
							   : "--%s takes no value%s",
					   rows[i].name,
					   rows[i].id == ID_JSON ? "\nRemedy: use -j" : ""));
	return refuse(ret_why, strf("unknown option -%c\nRemedy: see: gpupass --help", optopt));
}

/* An option whose value its verb reads. */
static const char **text_option(Options *o, int id)
{
	switch (id) {
	case ID_SINCE:
		return &o->since;
	case ID_UNTIL:
		return &o->until;
	case ID_GROUP:
		return &o->group;
	case ID_DOMAIN:
		return &o->domain;
	case ID_USER:
		return &o->user;
	case ID_JOB:
		return &o->job;
	case ID_EXPECT:
		return &o->expect;
	case ID_TRAIL:
		return &o->trail;
	case ID_BUNDLE:
		return &o->bundle;
	case ID_TEXTFILE:
		return &o->textfile;
	case ID_DISTRIBUTION:
		return &o->distribution;
	case ID_FIRST:
		return &o->first;
	case 'o':
		return &o->columns;
	case ID_SORT:
		return &o->sort;
	case ID_DEFINITIONS:
		return &o->definitions;
	default:
		return NULL;
	}
}

static int take_text(int id, const char *argument, const char **to, char **ret_why)
{
	for (size_t i = 0; str_is_empty(argument) && i < ELEMENTS(rows); i++)
		if (rows[i].id == id)
			return refuse(ret_why, strf("--%s needs a value", rows[i].name));
	*to = argument;
	return 0;
}

static int take_option(int id, const char *argument, Options *o, char **ret_why)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].id == id)
			o->given |= rows[i].verb_option;
	if (text_option(o, id))
		return take_text(id, argument, text_option(o, id), ret_why);
	switch (id) {
	case ID_JSON:
		return parse_json(argument, o, ret_why);
	case 'j':
		o->json = isatty(STDOUT_FILENO) == 1 ? JSON_PRETTY : JSON_SHORT;
		break;
	case 'H':
		if (str_is_empty(argument))
			return refuse(ret_why, strdup("--host needs the name of a host"));
		o->host = argument;
		break;
	case 'q':
		o->quiet = true;
		break;
	case ID_COLOUR:
		return parse_colour(argument, o, ret_why);
	case ID_NO_LEGEND:
		o->legend = false;
		break;
	case ID_NO_ASK_PASSWORD:
		o->ask_password = false;
		break;
	case ID_VERSION:
		o->version = true;
		break;
	case 'h':
		o->help = true;
		break;
	case ID_SESSION:
		o->session = true;
		break;
	case ID_MODEL:
		if (str_is_empty(argument))
			return refuse(ret_why, strdup("--model needs the name of a board"));
		o->model = argument;
		break;
	case ID_TIMEOUT:
		return parse_timeout(argument, o, ret_why);
	case ID_FORMAT: /* its verbs know which there are */
		o->format = argument;
		break;
	case ID_SYMPTOM:
		return parse_symptom(argument, o, ret_why);
	case ID_NUMA:
		return parse_mode(argument, "numa", &o->numa, ret_why);
	case ID_FIT:
		return parse_mode(argument, "fit", &o->fit, ret_why);
	default: /* flags, kept in o->given */
		break;
	}
	return 0;
}

/* getopt_long() takes the beginning of a name for the name. What was typed is what is told of. */
static void note_shortened(const char *word, const struct option *meant, Options *o)
{
	size_t length = strcspn(word, "=");

	if (strlen(meant->name) <= length)
		return;
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].id == meant->val)
			o->shortened = rows[i].verb_option;
	snprintf(o->typed, sizeof(o->typed), "%.*s", (int)length, word);
}

static size_t fill_getopt(struct option *to)
{
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (rows[i].name)
			to[n++] = (struct option){ .name = rows[i].name,
						   .has_arg = rows[i].argument ? required_argument
									       : no_argument,
						   .val = rows[i].id };
	to[n] = (struct option){ 0 };
	return n;
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
			r = take_option(id, optarg, &o, ret_why);
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
