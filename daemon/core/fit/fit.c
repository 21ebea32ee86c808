/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fit/fit.h"

#include "util/grow.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(fit_mode, FitMode, FIT_MODES)
DEFINE_STRING_TABLE(fit_severity, FitSeverity, FIT_SEVERITIES)
DEFINE_STRING_TABLE(fit_id, FitId, FIT_IDS)

#include "fit.inc"

void fit_add(FitReport *report, FitId id, FitSeverity severity, char *what, const char *remedy)
{
	*GROW(report->items, report->n_items) = (FitFinding){
		.id = id,
		.severity = severity,
		.what = what,
		.remedy = xstrdup(remedy),
	};
}
