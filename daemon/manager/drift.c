/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/drift.h"

#include "manager/audit.h"
#include "manager/records.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"

static void log_finding(Manager *m, const DriftFinding *finding, bool gone)
{
	const LogFields fields = {
		.message_id = gone ? LOG_ID_DRIFT_GONE : LOG_ID_DRIFT,
		.group = finding->group,
		.domain = finding->domain_name,
		.domain_uuid = finding->domain_uuid,
	};

	if (finding->kind == DRIFT_UNREAD)
		; /* the note of the file is logged */
	else if (gone)
		log_line(LOG_NOTICE, &fields, "drift of %s is gone: %s", finding->group,
			 finding->what);
	else
		log_line(LOG_WARNING, &fields, "drift of %s: %s (remedy: %s)", finding->group,
			 finding->what, finding->remedy);
	audit_drift(m, finding, gone);
	*(gone ? &m->metrics.drift_gone : &m->metrics.drift_found) += 1;
}

static void log_changes(Manager *m, const Drift *before, const Drift *now)
{
	for (size_t i = 0; before && i < before->n_items; i++)
		if (!drift_has(now, &before->items[i]))
			log_finding(m, &before->items[i], true);
	for (size_t i = 0; i < now->n_items; i++)
		if (!drift_has(before, &now->items[i]))
			log_finding(m, &now->items[i], false);
}

void manager_observe_drift(Manager *m)
{
	Drift *now = NULL;
	DriftFacts facts;

	/*
	 * Half of a job, or half of the facts, is no drift: the previous findings stay until then.
	 */
	if (!m->inventory || !m->assignments || !m->uses || manager_job_runs(m))
		return;
	facts = (DriftFacts){
		.snapshot = m->inventory->snapshot,
		.groups = m->inventory->groups,
		.uses = m->uses,
		.assignments = m->assignments,
		.boot = m->boot,
	};
	now = drift_find(&facts);
	m->drift_usec = now_realtime();
	log_changes(m, m->drift, now);
	drift_free(m->drift);
	m->drift = now;
	m->hooks->drift_found(m);
}
