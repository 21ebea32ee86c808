/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress of a job on stderr. On a terminal the lines of its steps are drawn in place; elsewhere
 * each step is one line, printed when it ends.
 */
#pragma once

#include "model/model.h"

typedef struct Progress {
	const Terminal *terminal;
	bool quiet;
	bool headline;	/* was printed */
	bool domain;	/* was printed */
	size_t n_drawn; /* lines on the terminal that the next drawing replaces */
	bool cancelled; /* not a terminal: that it is being cancelled was printed */
	char **printed; /* not a terminal: the state in which each step was printed last, or "" */
} Progress;

/* `group` (may be NULL) is the job's group, for its model and links. */
void progress_headline(Progress *p, const Job *job, const Group *group);
/* Its second line, once it is known which domain a name was: by both. */
void progress_domain(Progress *p, const Job *job);
void progress_update(Progress *p, const Job *job);
/* The last line: what was done, how long it took. */
void progress_result(Progress *p, const Job *job);
void progress_clear(Progress *p);

void progress_print_step(const Terminal *t, const Step *step);
