/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of gpupass complete. */
#pragma once

#include "verbs/verbs.h"

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

/* complete-words.c: prints words of a kind, each with `prefix` before it. */
typedef struct WordPrinter {
	Client *client;
	const char *prefix;
	const char *definitions; /* where libvirt has domains; NULL: the usual folders */
} WordPrinter;

void words_print(const WordPrinter *p, const char *word, const char *description);
/* What stands for a word of a usage line, such as GROUP|DOMAIN. False: that has no meaning here. */
bool words_are_known(const char *kinds);
void words_of_daemon(const WordPrinter *p, const char *kinds, bool held);
