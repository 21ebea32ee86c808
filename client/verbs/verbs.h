/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of the command line. */
#pragma once

#include "base/client.h"
#include "base/columns.h"
#include "export/export.h"
#include "model/model.h"

/* What a verb does with its arguments. Returns an exit code, or a negative errno
 * (base/client.h). */
typedef int VerbRun(Client *c, char *const *arguments, size_t n_arguments);

VerbRun verb_list, verb_status, verb_show, verb_topology, verb_plan, verb_assign, verb_release,
	verb_declare, verb_forget, verb_bind, verb_unbind, verb_prepare, verb_verify, verb_doctor,
	verb_clear, verb_reconcile, verb_jobs, verb_rescan, verb_monitor, verb_help, verb_probe,
	verb_audit, verb_metrics, verb_export, verb_cancel, verb_hookscript;

typedef struct Verb {
	const char *name;
	const char *usage;
	size_t min_arguments, max_arguments;
	uint64_t options; /* VerbOption */
	VerbRun *run;
	const char *help;
	char *(*formats)(void); /* of --format, "a, b, c"; new. NULL: it has none */
	const char *no_format;	/* what else there is, for who asks for another one; or NULL */
	const ColumnKind *(*columns)(size_t *ret_n); /* of -o and --sort */
} Verb;

/*
 * For the completions of shells, and in no help: what can stand as the last of these words, in a
 * line that has one of the verbs. The first line of its output says what comes: see complete.c.
 */
int verbs_complete(Client *c, const Verb *verbs, size_t n_verbs, char *const *words,
		   size_t n_words);

/* What -o knows. */
const ColumnKind *list_columns(size_t *ret_n);
const ColumnKind *jobs_columns(size_t *ret_n);

/* --version: of the program, of the interface, and of each format. */
int print_version(Client *c);

/* Finds the verb that the command line names, checks what it was given, and runs it. */
int verbs_dispatch(Client *c);

/* ---- what verbs have of each other ---- */

/*
 * The members of the domain's groups in the host's tree, as export prints it for NCCL; or why not
 * in guest->treeless. Returns an exit code, or a negative errno.
 */
int guest_tree_load(Client *c, const World *w, ExportGuest *guest);

/*
 * The groups of the domain that the word means, if it has several; otherwise only the word, and the
 * daemon says what it means. A name is believed only of groups that are assigned, to one domain:
 * what a domain left that is gone has its name, too.
 */
int meant_groups(Client *c, const char *word, char ***ret);

/* `group` may be NULL. Returns an exit code, or a negative errno. */
int plan_show(Client *c, Operation operation, const char *target, const char *group);
/*
 * The plan of each of these, for `domain` (NULL: of a release). Exits as for one that would change
 * something, if one of them would.
 */
int plans_show(Client *c, Operation operation, const char *domain, char *const *groups);
/* Whether the plan would change something. Prints nothing; a refusal is the client's failure. */
int plan_changes(Client *c, Operation operation, const char *target, const char *group, bool *ret);

/*
 * The document that `list` prints. `rescan`, `forget` and `clear` print it, too, as the new state.
 */
json_t *list_json(const World *w);
int list_print_json(Client *c, const World *w);
