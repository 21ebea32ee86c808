/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/drift/finding.h"

#include "util/xalloc.h"

#include <string.h>

void drift_about(DriftSubject *s, const Bdf *bdf)
{
	if (s->n_about < ELEMENTS(s->about))
		s->about[s->n_about++] = *bdf;
}

static void copy_text(const char *from, char **ret)
{
	*ret = from ? xstrdup(from) : NULL;
}

static void drift_finding_fill(const DriftSubject *s, DriftFinding *finding)
{
	const char *uuid = s->record && !s->marked ? s->record->domain_uuid
			   : s->domain		   ? s->domain->uuid
						   : NULL;
	const char *name = s->domain ? s->domain->name : s->record ? s->record->domain_name : NULL;

	copy_text(s->name, &finding->group);
	copy_text(uuid, &finding->domain_uuid);
	copy_text(name, &finding->domain_name);
	if (s->n_about == 0)
		return;
	finding->functions = xcalloc(s->n_about, sizeof(Bdf));
	memcpy(finding->functions, s->about, s->n_about * sizeof(Bdf));
	finding->n_functions = s->n_about;
}

void drift_add(DriftSubject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy)
{
	DriftFinding *bigger =
		xreallocarray(s->drift->items, s->drift->n_items + 1, sizeof(DriftFinding));
	DriftFinding *finding;

	s->drift->items = bigger;
	finding = &bigger[s->drift->n_items++];
	*finding = (DriftFinding){ .kind = kind, .repair = repair, .what = what, .remedy = remedy };
	s->blocked |= repair == DRIFT_REPAIR_NONE;
	drift_finding_fill(s, finding);
	s->n_about = 0;
}
