/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of rows share: lines of a finding, and facts by what they are about. */
#include "core/checks/checks.h"

#include <stdarg.h>

#include "util/grow.h"
#include "util/xalloc.h"

/* ---- findings ---- */

void finding_add(Finding *f, FindingStatus status, const char *object, const char *format, ...)
{
	FindingLine *line = GROW(f->lines, f->n_lines);
	va_list ap;

	if (status > f->status)
		f->status = status;
	va_start(ap, format);
	*line = (FindingLine){ status, xstrdup(object), vstrf(format, ap), NULL, false, 0, NULL };
	va_end(ap);
}

void finding_remedy(Finding *f, const char *format, ...)
{
	FindingLine *line = f->n_lines > 0 ? &f->lines[f->n_lines - 1] : NULL;
	va_list ap;

	if (!line || line->remedy)
		return;
	va_start(ap, format);
	line->remedy = vstrf(format, ap);
	va_end(ap);
}

void finding_bars(Finding *f, GpupassError error, const char *reason)
{
	FindingLine *line = &f->lines[f->n_lines - 1];

	line->bars = true;
	line->error = error;
	line->reason = xstrdup(reason);
}

const char *finding_remedy_text(const Finding *f)
{
	size_t i = 0;

	while (i < f->n_lines && f->lines[i].status < f->status)
		i++;
	while (i < f->n_lines && !f->lines[i].remedy)
		i++;
	return i < f->n_lines ? f->lines[i].remedy : NULL;
}

/* ---- facts ---- */

const FunctionFacts *checks_function(const Checks *c, const Bdf *bdf)
{
	return c->facts->inspection ? inspection_find(c->facts->inspection, bdf) : NULL;
}

const GpuHealth *checks_health(const Checks *c, const Gpu *gpu)
{
	const GpuHealth *health =
		gpu_healths_find(c->facts->health, c->facts->n_health, &gpu->lead->bdf);

	return health && health->error == 0 ? health : NULL;
}

bool checks_have(const Checks *c, const Bdf *bdf)
{
	return SOME_OF(c->functions, c->n_functions, bdf_equal(&it->bdf, bdf));
}

const Gpu *checks_gpu_of(const Checks *c, const Bdf *bdf)
{
	for (size_t i = 0; i < c->n_gpus; i++)
		if (SOME_OF(c->gpus[i]->functions, c->gpus[i]->n_functions,
			    bdf_equal(&it->bdf, bdf)))
			return c->gpus[i];
	return NULL;
}

bool checks_cover_group(const Checks *c, const char *name)
{
	return SOME_OF(c->groups, c->n_groups, str_equal(it->name, name)) || !c->facts->domain;
}

bool checks_busy(const Checks *c, const Group *group)
{
	return strv_contains(c->facts->busy, group->name);
}

void checks_need_read(const Checks *c, const char *key, Finding *f)
{
	size_t n = strlen(key);

	for (char **line = c->facts->host ? c->facts->host->unread : NULL; line && *line; line++)
		if (strncmp(*line, key, n) == 0 && (*line)[n] == ' ')
			finding_unknown(f, NULL, "not read: %s", *line + n + 1);
}

void checks_need_domains(const Checks *c, Finding *f)
{
	const DomainUse *use;
	size_t position = 0;

	if (!c->facts->uses && c->facts->policy->domains != DOMAINS_NONE)
		finding_unknown(f, NULL, "%s", domain_source_silence(c->facts->policy->domains));
	while (c->facts->uses && (use = domain_uses_unread(c->facts->uses, &position)))
		finding_unknown(f, use->name, "what %s has is not known: %s", use->name,
				use->unread);
}

bool checks_name_group(char *const *lines, const Group *group)
{
	size_t n = strlen(group->name);

	for (; lines && *lines; lines++)
		if (strncmp(*lines, group->name, n) == 0 && (*lines)[n] == ':')
			return true;
	return false;
}
