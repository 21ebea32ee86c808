/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adding a finding about the group or domain that is looked at. */
#include "core/drift/finding.h"
#include "util/grow.h"
#include "util/xalloc.h"

void drift_about(DriftSubject *s, const Bdf *bdf)
{
	if (s->n_about < ELEMENTS(s->about))
		s->about[s->n_about++] = *bdf;
}

void drift_add(DriftSubject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy)
{
	const char *uuid = s->record && !s->marked ? s->record->domain_uuid
			   : s->domain		   ? s->domain->uuid
						   : NULL;
	const char *name = s->domain ? s->domain->name : s->record ? s->record->domain_name : NULL;

	*GROW(s->drift->items, s->drift->n_items) = (DriftFinding){
		.kind = kind,
		.repair = repair,
		.group = xstrdup(s->name),
		.domain_uuid = xstrdup(uuid),
		.domain_name = xstrdup(name),
		.functions = xmemdup(s->about, s->n_about * sizeof(Bdf)),
		.n_functions = s->n_about,
		.what = what,
		.remedy = remedy,
	};
	s->blocked |= repair == DRIFT_REPAIR_NONE;
	s->n_about = 0;
}
