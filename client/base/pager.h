/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output that is longer than the screen is shown in a pager, as systemctl does it; see
 * systemctl(1), $SYSTEMD_PAGER. Unlike there, the output is complete before the pager starts, so
 * that short output costs no process, and what the user does in the pager changes no exit code.
 */
#pragma once

#include "base/terminal.h"

/* What main() found in the environment; NULL for what is not set. */
typedef struct PagerEnvironment {
	const char *pager;    /* $SYSTEMD_PAGER, or else $PAGER */
	const char *less;     /* $SYSTEMD_LESS */
	const char *charset;  /* $SYSTEMD_LESSCHARSET */
	const char *secure;   /* $SYSTEMD_PAGERSECURE */
	const char *sudo_uid; /* $SUDO_UID */
	const char *term;
	char *const *all;
} PagerEnvironment;

typedef struct Pager {
	const PagerEnvironment *environment;
	Terminal *out, *err;
	FILE *real_out, *real_err;
	FILE *memory; /* NULL: nothing is kept back */
	char *text;
	size_t size;
} Pager;

/*
 * From here on what is printed to `out`, and to `err` if that is a terminal, too, is kept until
 * pager_end(). Does nothing where `out` is no terminal, or the environment wants no pager.
 */
void pager_begin(Pager *p, Terminal *out, Terminal *err);
/* Prints what was kept, and waits for the pager if one is needed. */
int pager_end(Pager *p);
