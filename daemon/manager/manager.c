/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/manager.h"

#include "manager/config.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

/*
 * A mark in the domain's XML says little: whoever defines a domain can write one, and a record that
 * came of it would open the fence. The boards' own marks are in root's directory, and a job writes
 * them before a domain has the boards.
 */
static bool was_given(const Manager *m, const DriftFinding *finding)
{
	const Group *group = group_set_find(m->inventory->groups, finding->group);
	size_t n = 0;
	_cleanup_free_ const PciFunction **leads = group ? group_leads(group, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		const TenantFile *file =
			m->tenants ? tenants_find(m->tenants, &leads[i]->bdf) : NULL;

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
			.plan = { .operation = OPERATION_RECONCILE,
				  .only_record = true,
				  .caller_uid = getuid() },
			.group = finding->group,
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

/*
 * At its start a daemon writes the records that are missing, of groups that domains have by
 * gpupass: once in its life, after the first search for drift with no interrupted job left. Posted
 * and not called: this runs within an observation, and starting a job begins another.
 */
static void adopt(Manager *m)
{
	if (m->adopted || m->n_open_jobs > 0)
		return;
	m->adopted = true;
	mailbox_post(m->place.mailbox, adopt_work, m);
}

LOCAL_CLEAR(Manager, clear_manager)
#include "manager.inc"

static void scanned(Manager *m)
{
	manager_note_tenants(m);
	manager_follow_kept(m);
	manager_prepare_groups(m);
	/* The daemon asks for the first look, when it is ready. */
	if (m->health_usec > 0)
		manager_look_at_health(m);
	/* A look at domains that is under way ends with a write. */
	if (!m->uses_look.running)
		manager_renew_fence(m);
}

static void domains_read(Manager *m)
{
	manager_note_tenants(m);
	manager_prepare_groups(m);
	manager_renew_fence(m);
}

static const ManagerHooks hooks = {
	.scanned = scanned,
	.domains_read = domains_read,
	.drift_found = adopt,
	.jobs_ended = manager_prepare_groups,
	.refreshed = manager_write_fence,
};

int manager_new(const ManagerPlace *place, Manager **ret)
{
	_cleanup_(manager_freep) Manager *m = xcalloc(1, sizeof(Manager));
	int r;

	m->place = *place;
	m->metrics.started_usec = now_realtime();
	m->hooks = &hooks;
	manager_init_looks(m);
	m->fence_look.start = manager_start_fence;
	m->place.job.claims = claims_new();
	m->place.job.vfs = vf_watch_new();
	m->place.job.disk = disk_watch_new();
	m->place.job.health = health_look_new();
	r = config_load_rules(place->config_directory, &place->policy, &m->rules, &m->config_notes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

void manager_set_listener(Manager *m, const ManagerListener *listener)
{
	m->listener = *listener;
}

Manager *manager_free(Manager *m)
{
	if (!m)
		return NULL;
	claims_free(m->place.job.claims);
	vf_watch_free(m->place.job.vfs);
	disk_watch_free(m->place.job.disk);
	health_look_free(m->place.job.health);
	clear_manager(m);
	free(m);
	return NULL;
}
