/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fit/fit.h"

#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

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

char *fit_size_text(uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	while (unit + 1 < ELEMENTS(units) && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	/* Not a multiple of the next unit: round, but only from 16384 on. */
	for (; unit + 1 < ELEMENTS(units) && bytes >= 16384; unit++)
		bytes = (bytes + 512) / 1024;
	return strf("%llu %s", (unsigned long long)bytes, units[unit]);
}
