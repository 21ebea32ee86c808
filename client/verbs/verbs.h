/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of the command line. */
#pragma once

#include "base/client.h"
#include "base/columns.h"

/* What a verb does with its arguments. Returns an exit code, or a negative errno
 * (base/client.h). */
typedef int VerbRun(Client *c, char *const *arguments, size_t n_arguments);

VerbRun verb_list, verb_status, verb_show, verb_topology, verb_plan, verb_assign, verb_release,
	verb_declare, verb_forget, verb_bind, verb_unbind, verb_verify, verb_doctor, verb_clear,
	verb_reconcile, verb_jobs, verb_rescan, verb_monitor, verb_help, verb_probe, verb_audit,
	verb_metrics, verb_export, verb_cancel, verb_hookscript;

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

/* Finds the verb that the command line names, checks what it was given, and runs it. */
int verbs_dispatch(Client *c);
