/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fit_check() and fit_tune() call in window.c and numa.c. */
#pragma once

#include "core/fit/domain.h"
#include "core/fit/fit.h"

typedef struct Fit {
	const FitFacts *facts;
	FitDomain domain;
	FitReport *report;
} Fit;

/* window.c */
void fit_check_window(Fit *f);
/*
 * The window that all BARs of the group should have, in bytes: their sum, rounded up to a power of
 * two, doubled.
 */
uint64_t fit_window_wanted(const FitFacts *facts);
void fit_tune_window(const FitFacts *facts, const FitDomain *domain, FitTune *tune);

/* numa.c */
void fit_check_numa(Fit *f);
void fit_tune_numa(const FitFacts *facts, const FitDomain *domain, FitTune *tune);
