/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: options may stand before and after the verb. */
#pragma once

#include <stdint.h>

#include "base/terminal.h"

#define WITH_MAX 16 /* companions of a group */

typedef enum JsonMode { JSON_OFF, JSON_PRETTY, JSON_SHORT } JsonMode;

/* Options that only some verbs take: OPTION_LIVE … */
enum {
#define OF_SOME(ID, ...) OPTION_BIT_##ID,
#include "base/option-rows.h"
};
typedef enum VerbOption {
#define OF_SOME(ID, ...) OPTION_##ID = 1ULL << OPTION_BIT_##ID,
#include "base/option-rows.h"
} VerbOption;

typedef struct Options {
	JsonMode json;
	ColourWhen colour;
	uint64_t given;	    /* VerbOption: those that were given */
	uint64_t shortened; /* VerbOption: the last that was not written out */
	char typed[32];	    /* and how it was written */
	/* Texts and times, and what each verb takes. Verbs know the values; NULL, 0: default. */
#define OPTION_MEMBER(type, member) type member;
#include "base/option-rows.h"
	const char *host, *columns;
	const char *with[WITH_MAX]; /* --with, as often as it was given */
	size_t n_with;
	const char *definitions; /* where libvirt has domains; NULL: where it has them by default */
	char *const *arguments;	 /* verb and what follows; borrowed from argv */
	size_t n_arguments;
} Options;

/* An option as the help and completion need it, and how its value is read. */
typedef struct OptionRow OptionRow;
struct OptionRow {
	const char *name;     /* NULL: has only a letter */
	const char *argument; /* "[=WORD]": may be left out. NULL: takes no value */
	const char *words;    /* "a, b, c": the values that there are; NULL: its verbs know */
	/*
	 * What completes another value: GROUP, as in the usage of a verb, or what the shell knows
	 * (files, directories, hosts, users); "": nobody knows. NULL: what the verb says.
	 */
	const char *completion;
	const char *help;
	char letter;	      /* 0: has none */
	uint64_t verb_option; /* VerbOption; 0: for every verb */
	int (*read)(const OptionRow *row, const char *value, Options *o, char **ret_why);
	size_t at; /* where in Options */
};

/* The value stands behind a "=", or there is none. */
static inline bool option_may_lack_value(const OptionRow *row)
{
	return row->argument && row->argument[0] == '[' && row->argument[1] == '=';
}

/* The place of a word in "a, b, c"; -1: it is none of them. */
int words_index(const char *words, const char *word);

/* The i-th that is shown in a help; NULL behind the last. */
const OptionRow *option_at(size_t i);

/* -EINVAL with what is wrong, and perhaps a second line with a remedy, in *ret_why. */
int options_parse(int argc, char *argv[], Options *ret, char **ret_why);

/* "live" for a bit of VerbOption. */
const char *option_name(uint64_t option);
/* Lines of help for the options in the mask; for mask 0 those that every verb takes. */
void options_print_help(const Terminal *t, uint64_t mask);
