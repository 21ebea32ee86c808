/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/doctor/finding.h"

#include <stdarg.h>
#include <string.h>

DEFINE_STRING_TABLE(finding_status, FindingStatus, FINDING_STATUSES)

void finding_add(Finding *f, FindingStatus status, const char *object, const char *format, ...)
{
	va_list ap;

	if (status > f->status) {
		f->status = status;
		free(f->remedy);
		f->remedy = NULL;
	}
	va_start(ap, format);
	strv_append_take(&f->what, vstrf(format, ap));
	va_end(ap);
	if (object && !strv_contains(f->objects, object))
		strv_append(&f->objects, object);
}

void finding_remedy(Finding *f, const char *format, ...)
{
	va_list ap;

	if (f->remedy)
		return;
	va_start(ap, format);
	f->remedy = vstrf(format, ap);
	va_end(ap);
}

void finding_clear(Finding *f)
{
	strv_free(f->what);
	strv_free(f->objects);
	free(f->remedy);
}

/* ---- facts ---- */

const GpuHealth *doctor_health(const Doctor *d, const Gpu *gpu)
{
	const GpuHealth *health =
		gpu_healths_find(d->facts->health, d->facts->n_health, &gpu->lead->bdf);

	return health && health->error == 0 ? health : NULL;
}

void doctor_need_read(const Doctor *d, const char *key, Finding *f)
{
	size_t n = strlen(key);

	for (char **line = d->facts->host ? d->facts->host->unread : NULL; line && *line; line++)
		if (strncmp(*line, key, n) == 0 && (*line)[n] == ' ')
			finding_unknown(f, NULL, "not read: %s", *line + n + 1);
}

void doctor_need_domains(const Doctor *d, Finding *f)
{
	const DomainUse *use;
	size_t position = 0;

	if (!d->facts->uses && d->facts->policy->domains != DOMAINS_NONE)
		finding_unknown(f, NULL, "%s", domain_source_silence(d->facts->policy->domains));
	while (d->facts->uses && (use = domain_uses_unread(d->facts->uses, &position)))
		finding_unknown(f, use->name, "what %s has is not known: %s", use->name,
				use->unread);
}

void doctor_need_assignments(const Doctor *d, Finding *f)
{
	const RecordFaults *faults = &d->facts->assignments->faults;

	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *what = record_fault_what(&faults->items[i]);

		finding_unknown(f, NULL, "what is assigned is not known: %s", what);
	}
}

void doctor_need_inspection(const Doctor *d, Finding *f)
{
	const Inspection *inspection = d->facts->inspection;

	for (size_t i = 0; i < d->n_gpus; i++) {
		const Bdf *bdf = &d->gpus[i]->lead->bdf;
		const Group *group = group_set_find_gpu(d->facts->groups, bdf);

		if (inspection && inspection_find(inspection, bdf))
			continue;
		finding_unknown(f, BDF_TEXT(bdf), "%s was not inspected%s", BDF_TEXT(bdf),
				group && doctor_is_busy(d, group) ? ": a job works on it" : "");
	}
}

const Gpu *doctor_gpu_of(const Doctor *d, const Bdf *bdf)
{
	for (size_t i = 0; i < d->n_gpus; i++)
		for (size_t k = 0; k < d->gpus[i]->n_functions; k++)
			if (bdf_equal(&d->gpus[i]->functions[k]->bdf, bdf))
				return d->gpus[i];
	return NULL;
}

void doctor_tell_obstacles(const Doctor *d, Finding *f, ObstacleKind kind, const char *none,
			   const char *unknown)
{
	for (size_t i = 0; i < d->obstacles.n_items; i++) {
		const Obstacle *one = &d->obstacles.items[i];
		const char *object = one->kind == OBSTACLE_INTERRUPTS ? NULL : BDF_TEXT(&one->bdf);

		if (one->kind != kind)
			continue;
		if (one->weight == OBSTACLE_WARNS)
			finding_warn(f, object, "%s", one->what);
		else
			finding_fail(f, object, "%s", one->what);
		finding_remedy(f, "%s", one->remedy);
	}
	if (d->obstacles.unknown[kind])
		finding_unknown(f, NULL, "%s", unknown);
	else if (f->status == FINDING_SKIPPED)
		finding_pass(f, "%s", none);
}

bool doctor_is_busy(const Doctor *d, const Group *group)
{
	return strv_contains(d->facts->busy, group->name);
}
