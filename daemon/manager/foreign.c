/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/foreign.h"

#include "manager/audit.h"
#include "manager/records.h"
#include "manager/state.h"
#include "util/log.h"

static void report(Manager *m, const FenceFinding *f, bool gone)
{
	const LogFields fields = {
		.message_id = gone ? LOG_ID_FOREIGN_GONE : LOG_ID_FOREIGN,
		.group = f->group,
		.domain = f->domain_name,
		.domain_uuid = f->domain_uuid,
		.functions = f->functions,
	};

	if (gone)
		log_line(LOG_NOTICE, &fields, "no longer so: %s", f->what);
	else
		log_line(f->running ? LOG_ERR : LOG_WARNING, &fields, "%s (remedy: %s)", f->what,
			 f->remedy);
	audit_foreign(m, f, gone);
	*(gone ? &m->metrics.foreign_gone : &m->metrics.foreign_found) += 1;
}

static void report_changes(Manager *m, const FenceReport *before, const FenceReport *now)
{
	for (size_t i = 0; before && i < before->n_items; i++)
		if (!fence_report_has(now, &before->items[i]))
			report(m, &before->items[i], true);
	for (size_t i = 0; i < now->n_items; i++)
		if (!fence_report_has(before, &now->items[i]))
			report(m, &now->items[i], false);
}

void manager_observe_foreign(Manager *m)
{
	FenceReport *now = NULL;

	/* A job puts functions into a domain one after another. */
	if (!m->inventory || !m->assignments || !m->uses || manager_job_runs(m))
		return;
	now = fence_report(m->inventory->groups, m->uses, m->assignments, m->rules->declarations);
	report_changes(m, m->foreign, now);
	fence_report_free(m->foreign);
	m->foreign = now;
}

const FenceReport *manager_foreign(const Manager *m)
{
	return m->foreign;
}
