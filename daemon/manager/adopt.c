/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/adopt.h"

#include <unistd.h>

#include "manager/jobs.h"
#include "manager/state.h"
#include "util/log.h"
#include "util/text.h"

/*
 * A mark in the domain's XML says little: whoever defines a domain can write one, and a record that
 * came of it would open the fence. The boards' own marks are in root's directory, and a job writes
 * them before a domain has the boards.
 */
static bool was_given(const Manager *m, const DriftFinding *finding)
{
	const Group *group = group_set_find(m->inventory->groups, finding->group);

	for (size_t i = 0; group && i < group->n_gpus; i++) {
		const TenantFile *file =
			m->tenants ? tenants_find(m->tenants, &group->gpus[i]->lead->bdf) : NULL;

		if (!file || !file->mark ||
		    !str_equal(file->mark->domain_uuid, finding->domain_uuid))
			return false;
	}
	return group != NULL;
}

static void leave(const DriftFinding *finding)
{
	log_line(LOG_WARNING,
		 &(LogFields){ .message_id = LOG_ID_NOT_ADOPTED,
			       .group = finding->group,
			       .domain = finding->domain_name,
			       .domain_uuid = finding->domain_uuid },
		 "%s is not adopted for %s, whose XML says that it has it: gpupass never gave it "
		 "these boards (remedy: take them out of it; or, if it may have them: gpupass "
		 "reconcile %s)",
		 finding->group, str_or_empty(finding->domain_name), finding->group);
}

/* Writes records only. Everything else stays as this daemon found it. */
static void adopt_work(void *data)
{
	Manager *m = data;

	for (size_t i = 0; m->drift && i < m->drift->n_items; i++) {
		const DriftFinding *finding = &m->drift->items[i];
		_cleanup_(problem_freep) Problem *problem = NULL;
		JobRequest request = {
			.operation = OPERATION_RECONCILE,
			.group = finding->group,
			.only_record = true,
			.caller_uid = getuid(),
		};
		uint32_t id = 0;

		if (finding->repair != DRIFT_REPAIR_RECORD &&
		    finding->repair != DRIFT_REPAIR_RENAME)
			continue;
		if (finding->repair == DRIFT_REPAIR_RECORD && !was_given(m, finding)) {
			leave(finding);
			continue;
		}
		if (manager_start_job(m, &request, &id, &problem) != 0) {
			log_error("%s could not be adopted", finding->group);
			continue;
		}
		log_line(LOG_NOTICE,
			 &(LogFields){ .group = finding->group,
				       .domain = finding->domain_name,
				       .domain_uuid = finding->domain_uuid,
				       .job = id },
			 "adopting %s for %s: %s%s", finding->group,
			 str_or_empty(finding->domain_name), finding->what,
			 finding->repair == DRIFT_REPAIR_RECORD
				 ? "; what its functions were on before is not known, so a release "
				   "will leave them on vfio-pci"
				 : "");
	}
}

/* Posted and not called: this runs within an observation, and starting a job begins another. */
void manager_adopt(Manager *m)
{
	if (m->adopted || m->n_open_jobs > 0)
		return;
	m->adopted = true;
	mailbox_post(m->place.mailbox, adopt_work, m);
}
