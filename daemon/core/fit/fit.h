/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a domain fits the GPUs that it is about to get: address space for their BARs, memory to
 * pin, NUMA placement. Pure: its input is a domain's XML, BAR sizes from sysfs and facts about the
 * host; its output is findings. What is not known gives no finding.
 */
#pragma once

#include "core/domain/xml-tune.h"
#include "core/fit/finding.h"

#define FIT_MODES(X)                                                                               \
	X(FIT_ADVISE, "advise") /* report findings */                                              \
	X(FIT_APPLY, "apply")	/* also write into the definition what helps */                    \
	X(FIT_STRICT, "strict") /* also refuse to assign: warnings, errors */

DECLARE_ENUM(fit_mode, FitMode, FIT_MODES, FIT_MODE_MAX_);

FitReport *fit_check(const FitFacts *facts);
/* What --numa=apply and --fit=apply would write. */
FitTune fit_tune(const FitFacts *facts, bool numa, bool fit);

/* The first warning or error of a kind whose mode is FIT_STRICT; NULL: none. */
const FitFinding *fit_refusal(const FitReport *report, FitMode numa, FitMode fit);
