/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/verbs.h"

#include <ctype.h>

#include "base/host-name.h"
#include "base/text.h"
#include "util/xalloc.h"

/* Longer arguments name nothing that exists: libvirt and the daemon have shorter limits. */
#define ARGUMENT_MAX 4096
#define HOST_SHOWN_MAX 64

#define JOB_OPTIONS (OPTION_NO_BLOCK | OPTION_TIMEOUT)
#define ASSIGN_OPTIONS                                                                             \
	(OPTION_LIVE | OPTION_CONFIG | OPTION_MODEL | OPTION_TIMEOUT | OPTION_ALLOW_BOOT_VGA |     \
	 OPTION_NUMA | OPTION_FIT | OPTION_TOPOLOGY | OPTION_ACCEPT_DIRTY | OPTION_PEER_ACCESS)

#define VERB(verb, how, min, max, taken, what, ...)                                                \
	{                                                                                          \
		.name = #verb, .usage = how, .min_arguments = min, .max_arguments = max,           \
		.options = taken, .run = verb_##verb, .help = what, __VA_ARGS__                    \
	}

static char *topology_formats(void)
{
	return xstrdup("matrix, tree, svg");
}

static char *metrics_formats(void)
{
	return xstrdup("openmetrics, prometheus");
}

static const Verb verbs[] = {
	VERB(list, "", 0, 0, OPTION_COLUMNS | OPTION_SORT, "List groups, and GPUs in no group",
	     .columns = list_columns),
	VERB(status, "[GROUP|DOMAIN]", 0, 1, 0, "State of gpupassd, of a group, or of a domain"),
	VERB(show, "GROUP|GPU", 1, 1, 0, "Everything known about a group or a GPU"),
	VERB(topology, "", 0, 0, OPTION_FORMAT, "How GPUs reach each other",
	     .formats = topology_formats, .no_format = "; with -j the whole model"),
	VERB(plan, "DOMAIN [GROUP]", 1, 2,
	     ASSIGN_OPTIONS | OPTION_KEEP_VFIO | OPTION_RELEASE | OPTION_DETAILED_EXITCODE,
	     "Show what assign would do, write by write"),
	VERB(assign, "DOMAIN [GROUP...]", 1, 17,
	     ASSIGN_OPTIONS | OPTION_ANY | OPTION_NO_BLOCK | OPTION_WAIT | OPTION_DRY_RUN,
	     "Give groups to a domain"),
	VERB(release, "DOMAIN|GROUP...", 1, 16,
	     JOB_OPTIONS | OPTION_WAIT | OPTION_KEEP_VFIO | OPTION_DRY_RUN,
	     "Take groups back from their domain"),
	VERB(declare, "NAME GPU...", 2, 17,
	     OPTION_NO_BRIDGE_SEEN | OPTION_WITH | OPTION_WHOLE_NIC | OPTION_ERASE | OPTION_VLAN,
	     "Declare that GPUs are bridged, or one alone"),
	VERB(forget, "NAME", 1, 1, 0, "Withdraw a declaration"),
	VERB(bind, "GROUP", 1, 1,
	     JOB_OPTIONS | OPTION_WAIT | OPTION_ALLOW_BOOT_VGA | OPTION_PERSIST | OPTION_DRY_RUN,
	     "Bind a group to vfio-pci"),
	VERB(unbind, "GROUP", 1, 1,
	     JOB_OPTIONS | OPTION_WAIT | OPTION_ALLOW_BOOT_VGA | OPTION_DRY_RUN,
	     "Give a group back to the host's drivers"),
	VERB(prepare, "GROUP", 1, 1, JOB_OPTIONS | OPTION_WAIT | OPTION_DRY_RUN,
	     "Make VFs, erase NVMes, before a domain"),
	VERB(verify, "DOMAIN [GROUP...]", 1, 17, JOB_OPTIONS | OPTION_WORKLOAD,
	     "Prove in the guest that NVLink works"),
	VERB(clear, "GROUP", 1, 1, 0, "Lift a quarantine whose cause is gone"),
	VERB(reconcile, "[GROUP]", 0, 1, JOB_OPTIONS | OPTION_DRY_RUN | OPTION_DETAILED_EXITCODE,
	     "Find what drifted from the assignments, mend it"),
	VERB(doctor, "[DOMAIN]", 0, 1, OPTION_SYMPTOM | OPTION_VERBOSE | OPTION_BUNDLE,
	     "Find out what is wrong, and what to do"),
	VERB(probe, "", 0, 0, JOB_OPTIONS | OPTION_MMIO,
	     "Observe through NVML which GPUs are linked"),
	VERB(export, "[DOMAIN|GROUP...]", 0, 2, OPTION_FORMAT | OPTION_DISTRIBUTION | OPTION_FIRST,
	     "Print GPUs in the format of another tool", .formats = export_format_names),
	VERB(hookscript, "VMID PHASE", 2, 2, 0, "Bind or reset what a machine of Proxmox VE has"),
	VERB(audit, "", 0, 0,
	     OPTION_SINCE | OPTION_UNTIL | OPTION_GROUP | OPTION_DOMAIN | OPTION_USER | OPTION_JOB |
		     OPTION_HOLDERS | OPTION_FOLLOW | OPTION_VERIFY | OPTION_EXPECT | OPTION_TRAIL,
	     "Who did what, and who was refused"),
	VERB(metrics, "", 0, 0, OPTION_FORMAT | OPTION_TEXTFILE,
	     "State and counters for Prometheus", .formats = metrics_formats),
	VERB(jobs, "[ID]", 0, 1, OPTION_COLUMNS | OPTION_SORT, "List jobs, or show one",
	     .columns = jobs_columns),
	VERB(cancel, "JOB", 1, 1, OPTION_NO_BLOCK, "Cancel a job, and undo what it did"),
	VERB(rescan, "", 0, 0, 0, "Read devices, drivers and domains again"),
	VERB(monitor, "", 0, 0, 0, "Print jobs and changes as they come"),
	VERB(help, "[VERB]", 0, 1, 0, "Print help"),
};

/* NULL: there is none of that name. */
static const Verb *find_verb(const char *name)
{
	return FIND(verbs, ELEMENTS(verbs), strcmp(it->name, name) == 0);
}

/* What other programs call it, or its beginning: only ever suggested. */
static const char *other_word(const char *name)
{
	static const struct {
		const char *word, *verb;
	} words[] = {
		{ "attach", "assign" },	 { "add", "assign" },	    { "detach", "release" },
		{ "remove", "release" }, { "unassign", "release" }, { "info", "show" },
		{ "describe", "show" },	 { "get", "show" },	    { "undeclare", "forget" },
		{ "history", "audit" },	 { "log", "audit" },	    { "logs", "audit" },
		{ "events", "monitor" }, { "check", "doctor" },	    { "ls", "list" },
		{ "scan", "rescan" },	 { "refresh", "rescan" },   { "test", "verify" },
		{ "watch", "monitor" },
	};

	const Verb *verb = FIND(verbs, ELEMENTS(verbs), str_starts_with(it->name, name));

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (strcmp(words[i].word, name) == 0)
			return words[i].verb;
	return verb ? verb->name : NULL;
}

static int unknown_verb(Client *c, const char *name)
{
	const char *nearest = other_word(name);
	size_t best = nearest ? 0 : 3;

	for (size_t i = 0; i < ELEMENTS(verbs); i++) {
		size_t distance = text_distance(name, verbs[i].name);

		if (distance < best && distance * 2 <= strlen(name)) {
			best = distance;
			nearest = verbs[i].name;
		}
	}
	if (nearest)
		return client_usage(c, "unknown verb '%s'\nRemedy: did you mean '%s'?", name,
				    nearest);
	return client_usage(c, "unknown verb '%s'\nRemedy: see: gpupass --help", name);
}

/* Before anything is sent: refuses what cannot be right, such as an unset shell variable. */
static int check_arguments(Client *c, char *const *arguments, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!*arguments[i])
			return client_usage(c, "argument %zu is empty", i + 1);
		if (strlen(arguments[i]) > ARGUMENT_MAX)
			return client_usage(c, "argument %zu is longer than %d bytes", i + 1,
					    ARGUMENT_MAX);
		if (!text_utf8_valid(arguments[i]))
			return client_usage(c, "argument %zu is not UTF-8", i + 1);
		for (const char *s = arguments[i]; *s; s++)
			if (iscntrl((unsigned char)*s) && (unsigned char)*s < 0x80)
				return client_usage(c, "argument %zu has a control character",
						    i + 1);
	}
	return 0;
}

static int check_verb(Client *c, const Verb *verb, size_t n_arguments)
{
	uint64_t extra = c->options->given & ~verb->options;

	if (extra)
		return client_usage(c, "--%s is no option of %s\nRemedy: see: gpupass help %s",
				    extra & c->options->shortened ? c->options->typed
								  : option_name(extra & -extra),
				    verb->name, verb->name);
	if (n_arguments < verb->min_arguments || n_arguments > verb->max_arguments)
		return client_usage(c, "%s: too %s arguments\nRemedy: write it as: gpupass %s%s%s",
				    verb->name, n_arguments < verb->min_arguments ? "few" : "many",
				    verb->name, *verb->usage ? " " : "", verb->usage);
	return 0;
}

static int print_verb_help(Client *c, const Verb *verb)
{
	fprintf(c->out.stream, "gpupass [OPTION...] %s%s%s\n\n%s.\n", verb->name,
		*verb->usage ? " " : "", verb->usage, verb->help);
	if (verb->options) {
		fprintf(c->out.stream, "\nOptions of %s:\n", verb->name);
		options_print_help(&c->out, verb->options);
	}
	fprintf(c->out.stream, "\nOptions of every verb:\n");
	options_print_help(&c->out, 0);
	return GPUPASS_EXIT_DONE;
}

static int print_help(Client *c)
{
	fprintf(c->out.stream, "gpupass [OPTION...] [VERB] [ARGUMENT...]\n\n"
			       "Give NVLink-bridged GPUs to virtual machines.\n\nVerbs:\n");
	for (size_t i = 0; i < ELEMENTS(verbs); i++)
		fprintf(c->out.stream, "  %-10s %-17s %s\n", verbs[i].name, verbs[i].usage,
			verbs[i].help);
	fprintf(c->out.stream, "\nOptions:\n");
	options_print_help(&c->out, 0);
	fprintf(c->out.stream, "\nOptions of one verb: gpupass help VERB. Manual: gpupass(1).\n");
	return GPUPASS_EXIT_DONE;
}

int verb_help(Client *c, char *const *arguments, size_t n_arguments)
{
	const Verb *verb;

	if (n_arguments == 0)
		return print_help(c);
	verb = find_verb(arguments[0]);
	return verb ? print_verb_help(c, verb) : unknown_verb(c, arguments[0]);
}

/* Before ssh is started: a word that is the name of a host, and nothing else. */
static int check_host(Client *c)
{
	const char *host = c->options->host;
	_cleanup_free_ char *clean = NULL;

	if (!host || host_name_is_valid(host))
		return 0;
	if (strchr(host, ','))
		return client_usage(c, "-H takes one host\n"
				       "Remedy: ask several with clush, as FLEET.md shows");
	clean = text_printable(host);
	return client_usage(c,
			    "-H: '%.*s' is no name of a host\n"
			    "Remedy: write it as [USER@]HOST[:PORT]",
			    HOST_SHOWN_MAX, clean ? clean : "");
}

static int check_format(Client *c, const Verb *verb)
{
	_cleanup_free_ char *names = verb->formats ? verb->formats() : NULL;

	if (!names || !c->options->format || words_index(names, c->options->format) >= 0)
		return 0;
	return client_usage(c, "--format=%s: no such format\nRemedy: one of %s%s",
			    c->options->format, names, str_or_empty(verb->no_format));
}

int verbs_dispatch(Client *c)
{
	const Options *o = c->options;
	const char *name = o->n_arguments > 0 ? o->arguments[0] : "list";
	size_t n = o->n_arguments > 0 ? o->n_arguments - 1 : 0;
	const Verb *verb;
	int r;

	if (o->version)
		return print_version(c);
	/* The words of a line that is not finished may be any. */
	if (strcmp(name, "complete") == 0)
		return verbs_complete(c, verbs, ELEMENTS(verbs), o->arguments + 1, n);
	r = check_arguments(c, o->arguments, o->n_arguments);
	if (r < 0)
		return r;
	verb = find_verb(name);
	if (!verb)
		return unknown_verb(c, name);
	if (o->help)
		return o->n_arguments == 0 ? print_help(c) : print_verb_help(c, verb);
	r = check_verb(c, verb, n);
	if (r >= 0)
		r = check_host(c);
	if (r >= 0)
		r = check_format(c, verb);
	return r < 0 ? r : verb->run(c, o->arguments + 1, n);
}
