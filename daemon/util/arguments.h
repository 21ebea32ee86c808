/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command lines of the daemon's programs: long options from a table, then operands. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Program {
	const char *name;
	const char *help;    /* what --help prints */
	const char *version; /* what --version prints, behind the name */
} Program;

/* Either `text` or `flag` is set. */
typedef struct Argument {
	const char *name;  /* without the dashes */
	const char **text; /* it has a value, which goes here; argv's */
	bool *flag;	   /* it has none, and makes this true */
	bool once;	   /* refused the second time; what it sets is NULL or false before */
} Argument;

#define ARGUMENTS_MAX 16

/*
 * true, with the place in argv of the first operand. false with *ret_status, the exit status, when
 * there is nothing to do: --help, --version, or wrong usage, which it has said on stderr.
 */
bool arguments_parse(const Program *program, const Argument *known, size_t n_known, int argc,
		     char **argv, int *ret_first, int *ret_status);

/* Says on stderr what is wrong, and with what (may be NULL); returns the exit status for it. */
int arguments_refuse(const Program *program, const char *what, const char *argument);
