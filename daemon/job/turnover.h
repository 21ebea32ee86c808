/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One reset of a plan's functions between two tenants: what is reset, and what came of it. */
#pragma once

#include "job/steps.h"

typedef struct Turnover {
	StepContext *context;
	bool undo;	      /* of an assign, whose guest had the functions */
	bool leaves;	      /* no domain is to get them next */
	const bool *returned; /* of an undo, by function: left vfio-pci; borrowed */
	ResetTarget *targets; /* what workers reset */
	ResetOutcome *outcomes;
	size_t n;
	ResetReport *reports; /* borrow from outcomes: of all functions on vfio-pci */
	size_t n_reports;
	ReceiptBoard *boards; /* borrow from the plan: of all that take part */
	size_t n_boards;
	Bdf *polled; /* boards whose memory was asked about */
	MemoryReport *memory;
	size_t n_polled;
	uint64_t begun_usec;
} Turnover;

/*
 * `returned` NULL: the reset that the plan has as a step. Otherwise the one with which the undo of
 * an assign begins, without what has returned.
 */
Turnover turnover_make(StepContext *c, const bool *returned);
void turnover_clear(Turnover *t);

/* Fills reports and boards from the outcomes. */
void turnover_collect(Turnover *t);
const ResetReport *turnover_report(const Turnover *t, const Bdf *bdf);

/* A release may end without a reset. Then the next domain does not get the board. */
bool turnover_failed(const Turnover *t, const Receipt *receipt);

/* "0000:41:00.0: reset (flr); …", or only what was not reset, a line each. */
char *turnover_functions_text(const Turnover *t, bool only_bad);
/* "0000:41:00.0 was last used by vm42 (…)", of those that were not reset; NULL: none. */
char *turnover_tenants_text(const Turnover *t);
