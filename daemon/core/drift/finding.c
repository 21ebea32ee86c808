/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/drift/finding.h"

#include <string.h>

void drift_about(DriftSubject *s, const Bdf *bdf)
{
	if (s->n_about < ELEMENTS(s->about))
		s->about[s->n_about++] = *bdf;
}

static int copy_text(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

static int drift_finding_fill(const DriftSubject *s, DriftFinding *finding)
{
	const char *uuid = s->record && !s->marked ? s->record->domain_uuid
			   : s->domain		   ? s->domain->uuid
						   : NULL;
	const char *name = s->domain ? s->domain->name : s->record ? s->record->domain_name : NULL;

	if (copy_text(s->name, &finding->group) < 0 || copy_text(uuid, &finding->domain_uuid) < 0 ||
	    copy_text(name, &finding->domain_name) < 0)
		return -ENOMEM;
	if (s->n_about == 0)
		return 0;
	finding->functions = calloc(s->n_about, sizeof(Bdf));
	if (!finding->functions)
		return -ENOMEM;
	memcpy(finding->functions, s->about, s->n_about * sizeof(Bdf));
	finding->n_functions = s->n_about;
	return 0;
}

int drift_add(DriftSubject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy)
{
	DriftFinding *bigger =
		reallocarray(s->drift->items, s->drift->n_items + 1, sizeof(DriftFinding));
	DriftFinding *finding;
	int r;

	if (bigger)
		s->drift->items = bigger;
	if (!bigger || !what || (!remedy && repair == DRIFT_REPAIR_NONE)) {
		free(what);
		free(remedy);
		return -ENOMEM;
	}
	finding = &bigger[s->drift->n_items++];
	*finding = (DriftFinding){ .kind = kind, .repair = repair, .what = what, .remedy = remedy };
	s->blocked |= repair == DRIFT_REPAIR_NONE;
	r = drift_finding_fill(s, finding);
	s->n_about = 0;
	return r;
}
