/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command lines of the daemon's programs: long options from a table, then operands. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Program {
	const char *name;
	const char *help;    /* what --help prints */
	const char *version; /* what --version prints after the name */
} Program;

/* Either `text` or `flag` is set. */
typedef struct Argument {
	const char *name;  /* without the dashes */
	const char **text; /* it takes a value, which goes here; argv's */
	bool *flag;	   /* it takes none, and sets this to true */
	bool once;	   /* refused the second time; its target is NULL or false before */
} Argument;

#define ARGUMENTS_MAX 16

/*
 * true, with the index in argv of the first operand. false with *ret_status, the exit status, when
 * there is nothing to do: --help, --version, or wrong usage, which it has reported on stderr.
 */
bool arguments_parse(const Program *program, const Argument *known, size_t n_known, int argc,
		     char **argv, int *ret_first, int *ret_status);

/*
 * Reports on stderr what is wrong, and with which argument (may be NULL); returns the exit status.
 */
int arguments_refuse(const Program *program, const char *what, const char *argument);

/* Reports on stderr what cannot be done, and why; returns the exit status. */
int program_fail(const Program *program, const char *what, int error);
