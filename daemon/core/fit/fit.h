/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a domain fits the GPUs it is to get: address space for their BARs, memory to pin, NUMA
 * placement. Pure: a domain's XML, sysfs' BAR sizes and the host's facts in, findings out. What is
 * not known gives no finding.
 */
#pragma once

#include "core/domain/xml-tune.h"
#include "core/fit/finding.h"

#define FIT_MODES(X)                                                                               \
	X(FIT_ADVISE, "advise") /* findings are told */                                            \
	X(FIT_APPLY, "apply")	/* and what can be is written into the definition */               \
	X(FIT_STRICT, "strict") /* and one that matters refuses the assignment */

typedef enum FitMode {
#define X(enumerator, name) enumerator,
	FIT_MODES(X)
#undef X
		FIT_MODE_MAX_,
} FitMode;
DECLARE_STRING_TABLE(fit_mode, FitMode);

/* -ENOMEM */
int fit_check(const FitFacts *facts, FitReport **ret);
/* What --numa=apply and --fit=apply would write. -ENOMEM */
int fit_tune(const FitFacts *facts, bool numa, bool fit, FitTune *ret);

/* The first finding of warning or above that the modes refuse; NULL: none. */
const FitFinding *fit_refusal(const FitReport *report, FitMode numa, FitMode fit);
