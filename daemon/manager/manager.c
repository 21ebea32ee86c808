/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/manager.h"

#include "manager/adopt.h"
#include "manager/config.h"
#include "manager/fence.h"
#include "manager/kept.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

static void scanned(Manager *m)
{
	manager_note_tenants(m);
	manager_follow_kept(m);
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
	manager_renew_fence(m);
}

static const ManagerHooks hooks = {
	.scanned = scanned,
	.domains_read = domains_read,
	.drift_found = manager_adopt,
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
	manager_init_fence(m);
	m->claims = claims_new();
	m->disk = disk_watch_new();
	health_look_new(&m->health_look);
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
	manager_clear_looks(m);
	manager_clear_fence(m);
	for (size_t i = 0; i < m->n_jobs; i++)
		job_record_free(m->jobs[i]);
	free(m->jobs);
	manager_clear_verdicts(m);
	inventory_free(m->inventory);
	assignments_free(m->assignments);
	tenants_free(m->tenants);
	free(m->tenants_note);
	free(m->kept_note);
	domain_uses_free(m->uses);
	rules_unref(m->rules);
	claims_free(m->claims);
	disk_watch_free(m->disk);
	health_look_free(m->health_look);
	strv_free(m->config_notes);
	strv_free(m->file_notes);
	strv_free(m->state_notes);
	open_jobs_free(m->open_jobs, m->n_open_jobs);
	free(m->recovered);
	strv_free(m->notes);
	boot_faults_free(m->boot);
	drift_free(m->drift);
	fence_report_free(m->foreign);
	gpu_healths_free(m->health, m->n_health);
	free(m->scan_note);
	free(m->uses_note);
	free(m);
	return NULL;
}
