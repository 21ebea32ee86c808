/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: options may stand before and after the verb. */
#pragma once

#include <stdint.h>

#include "base/terminal.h"

#define WITH_MAX 16 /* companions of a group */

typedef enum JsonMode { JSON_OFF, JSON_PRETTY, JSON_SHORT } JsonMode;

/* Options that only some verbs take. */
typedef enum VerbOption {
	OPTION_LIVE = 1ULL << 0,
	OPTION_CONFIG = 1ULL << 1,
	OPTION_MODEL = 1ULL << 2,
	OPTION_DRY_RUN = 1ULL << 3,
	OPTION_NO_BLOCK = 1ULL << 4,
	OPTION_TIMEOUT = 1ULL << 5,
	OPTION_ALLOW_BOOT_VGA = 1ULL << 6,
	OPTION_KEEP_VFIO = 1ULL << 7,
	OPTION_RELEASE = 1ULL << 8,
	OPTION_DETAILED_EXITCODE = 1ULL << 9,
	OPTION_FORMAT = 1ULL << 10,
	OPTION_SYMPTOM = 1ULL << 11,
	OPTION_VERBOSE = 1ULL << 12,
	OPTION_MMIO = 1ULL << 13,
	OPTION_NUMA = 1ULL << 14,
	OPTION_FIT = 1ULL << 15,
	OPTION_ACCEPT_DIRTY = 1ULL << 16,
	OPTION_SINCE = 1ULL << 17,
	OPTION_UNTIL = 1ULL << 18,
	OPTION_GROUP = 1ULL << 19,
	OPTION_DOMAIN = 1ULL << 20,
	OPTION_USER = 1ULL << 21,
	OPTION_JOB = 1ULL << 22,
	OPTION_HOLDERS = 1ULL << 23,
	OPTION_FOLLOW = 1ULL << 24,
	OPTION_VERIFY = 1ULL << 25,
	OPTION_EXPECT = 1ULL << 26,
	OPTION_TRAIL = 1ULL << 27,
	OPTION_PERSIST = 1ULL << 28,
	OPTION_BUNDLE = 1ULL << 29,
	OPTION_TEXTFILE = 1ULL << 30,
	OPTION_DISTRIBUTION = 1ULL << 31,
	OPTION_COLUMNS = 1ULL << 32,
	OPTION_SORT = 1ULL << 33,
	OPTION_WORKLOAD = 1ULL << 34,
	OPTION_FIRST = 1ULL << 35,
	OPTION_ANY = 1ULL << 36,
	OPTION_NO_BRIDGE_SEEN = 1ULL << 37,
	OPTION_WAIT = 1ULL << 38,
	OPTION_WITH = 1ULL << 39,
	OPTION_WHOLE_NIC = 1ULL << 40,
	OPTION_ERASE = 1ULL << 41,
	OPTION_VLAN = 1ULL << 42,
} VerbOption;

typedef struct Options {
	JsonMode json;
	ColourWhen colour;
	const char *host;
	bool session;
	bool legend;
	bool ask_password;
	bool quiet;
	bool help;
	bool version;
	uint64_t given;	    /* VerbOption: those that were given */
	uint64_t shortened; /* VerbOption: the last that was not written out */
	char typed[32];	    /* and how it was written */
	const char *model;
	const char *symptom;
	const char *numa, *fit;
	uint64_t timeout_usec, wait_usec;
	const char *since, *until, *group, *domain, *user, *job, *expect, *trail, *bundle;
	const char *textfile;
	const char *format, *distribution,
		*first; /* their verbs know the values; NULL: the default */
	const char *columns, *sort;
	const char *with[WITH_MAX]; /* --with, as often as it was given */
	size_t n_with;
	const char *vlan;
	const char *definitions; /* where libvirt has domains; NULL: where it has them by default */
	char *const *arguments;	 /* verb and what follows; borrowed from argv */
	size_t n_arguments;
} Options;

/* An option as the help and completion need it, and how its value is read. */
typedef struct OptionRow OptionRow;
struct OptionRow {
	const char *name;     /* NULL: has only a letter */
	const char *argument; /* NULL: takes no value */
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
