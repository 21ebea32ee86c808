/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks that fit_check() runs from other files, and what fit_tune() asks there. */
#pragma once

#include "core/fit/domain.h"
#include "core/fit/finding.h"

typedef struct Fit {
	const FitFacts *facts;
	FitDomain domain;
	FitReport *report;
} Fit;

/* window.c */
int fit_check_window(Fit *f);
/* What the window should have for all BARs of the group, in bytes: sum, power of two, doubled. */
uint64_t fit_window_wanted(const FitFacts *facts);
void fit_tune_window(const FitFacts *facts, const FitDomain *domain, FitTune *tune);

/* numa.c */
int fit_check_numa(Fit *f);
int fit_tune_numa(const FitFacts *facts, const FitDomain *domain, FitTune *tune);
