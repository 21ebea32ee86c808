/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/state.h"

#include "util/text.h"

JobPlace manager_job_place(Manager *m)
{
	return (JobPlace){
		.host = m->place.host,
		.store = m->place.store,
		.receipts = m->place.receipts,
		.journal = m->place.journal,
		.quarantine = m->place.quarantine,
		.tenants = m->place.tenants,
		.fence = m->place.fence,
		.topology = m->place.topology,
		.trail = m->place.trail,
		.numbers = m->place.numbers,
		.claims = m->claims,
		.disk = m->disk,
		.health = m->health_look,
		.rules = m->rules,
		.ruled = claims_now(m->claims),
		.known = m->inventory ? m->inventory->identities : NULL,
	};
}

void manager_set_rules(Manager *m, Rules *rules, char **notes)
{
	rules_unref(m->rules);
	m->rules = rules;
	strv_free(m->config_notes);
	m->config_notes = notes;
}
