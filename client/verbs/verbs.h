/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of the command line. */
#pragma once

#include "base/client.h"

/* What a verb does with its arguments. Returns an exit code, or a negative errno
 * (base/client.h). */
typedef int VerbRun(Client *c, char *const *arguments, size_t n_arguments);

VerbRun verb_list, verb_status, verb_show, verb_topology, verb_plan, verb_assign, verb_release,
	verb_declare, verb_forget, verb_bind, verb_unbind, verb_verify, verb_doctor, verb_clear,
	verb_reconcile, verb_jobs, verb_rescan, verb_monitor, verb_help, verb_probe, verb_audit,
	verb_metrics, verb_export, verb_cancel, verb_hookscript;

/*
 * For the completions of shells, and in no help: what can stand as the last of these words. The
 * first line of its output says what comes: see complete.c.
 */
VerbRun verb_complete;

typedef struct Verb {
	const char *name;
	const char *usage;
	size_t min_arguments, max_arguments;
	uint64_t options; /* VerbOption */
	VerbRun *run;
	const char *help;
} Verb;

/* NULL behind the last. */
const Verb *verb_at(size_t i);
/* NULL: there is none of that name. */
const Verb *verb_find(const char *name);

/* Finds the verb that the command line names, checks what it was given, and runs it. */
int verbs_dispatch(Client *c);
