/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/manager.h"

#include <string.h>

#include "core/group/observe.h"
#include "manager/private.h"
#include "util/log.h"
#include "util/text.h"

/* Of domains whose XML is not known; the doctor tells of all. */
#define UNREAD_NOTES_MAX 8

static GroupState moving_state(const JobRecord *job)
{
	if (job->rolling_back)
		return GROUP_ROLLING_BACK;
	for (size_t i = 0; i < job->n_steps; i++) {
		if (job->steps[i].state != STEP_RUNNING)
			continue;
		if (job->steps[i].kind == STEP_ATTACH || job->steps[i].kind == STEP_RECORD ||
		    job->steps[i].kind == STEP_VERIFY || job->steps[i].kind == STEP_DEFINE)
			break;
		if (job->steps[i].kind == STEP_DETACH)
			return GROUP_DETACHING;
		if (job->steps[i].kind == STEP_BIND || job->steps[i].kind == STEP_PREFLIGHT ||
		    job->steps[i].kind == STEP_PERSISTENCE_OFF)
			return job->operation == OPERATION_RELEASE ? GROUP_RELEASING
								   : GROUP_BINDING;
		return GROUP_RELEASING;
	}
	if (job->operation == OPERATION_ASSIGN || job->operation == OPERATION_RECONCILE)
		return GROUP_ATTACHING;
	return job->operation == OPERATION_BIND ? GROUP_BINDING : GROUP_RELEASING;
}

static void set_moving(Group *group, GroupState state, char *reason)
{
	group->state = state;
	group->assignable = false;
	free(group->reason);
	group->reason = reason;
}

static void add_boot_reason(const Manager *m, Group *group)
{
	_cleanup_free_ char *boot = manager_boot_reason(m, group);
	char *both = boot ? strf("%s; %s", str_or_empty(group->reason), boot) : NULL;

	if (!both)
		return; /* without memory the reason stays shorter */
	free(group->reason);
	group->reason = both;
}

/* Moving states come from open jobs, quarantine from claims that no job could let go. */
static void overlay(Manager *m, Group *group)
{
	uint32_t id = manager_group_job(m, group);
	char *reason = NULL;

	if (id > 0) {
		set_moving(group, moving_state(manager_job(m, id)), strf("job %u", id));
		return;
	}
	for (size_t i = 0; i < group->n_gpus && !reason; i++)
		reason = claims_quarantine_reason(m->claims, &group->gpus[i]->lead->bdf, NULL);
	if (reason)
		set_moving(group, GROUP_QUARANTINED, reason);
	else if (group->state == GROUP_DEGRADED)
		add_boot_reason(m, group);
}

static int note_unread(const DomainUses *uses, char ***notes)
{
	size_t n = 0, position = 0;
	const DomainUse *use;

	while (uses && n < UNREAD_NOTES_MAX && (use = domain_uses_unread(uses, &position))) {
		int r = strv_appendf(notes,
				     "what domain %s (%s) has cannot be told, so nothing can be "
				     "assigned: its XML: %s; see: gpupass doctor",
				     use->name, use->uuid, use->unread);

		if (r < 0)
			return r;
		n++;
	}
	return 0;
}

static int collect_notes(Manager *m, char ***ret)
{
	_cleanup_strv_ char **notes = NULL;
	_cleanup_free_ char *disk = disk_watch_reason(m->disk);
	char *const *sources[] = { m->config_notes, m->store_notes, m->state_notes,
				   m->inventory ? m->inventory->groups->notes : NULL };
	int r = 0;

	if (disk)
		r = strv_appendf(&notes,
				 "%s; nothing is assigned or released until the daemon's files can "
				 "be written again",
				 disk);
	if (r >= 0 && m->place.host_note)
		r = strv_append(&notes, m->place.host_note);
	if (r >= 0 && m->scan_note)
		r = strv_append(&notes, m->scan_note);
	if (r >= 0 && m->tenants_note)
		r = strv_append(&notes, m->tenants_note);
	if (r >= 0)
		r = tenancy_notes(
			&(TenancyFacts){ .tenants = m->tenants,
					 .gpus = m->inventory ? m->inventory->gpus : NULL },
			&notes);
	if (r >= 0 && m->connected && m->uses_note)
		r = strv_append(&notes, m->uses_note);
	if (r >= 0)
		r = note_unread(m->uses, &notes);
	if (r >= 0 && !m->connected)
		r = strv_append(&notes, "libvirt does not answer: domains are not known, and "
					"nothing can be assigned or released");
	if (r >= 0 && m->drift && m->drift->n_items > 0)
		r = strv_appendf(&notes, "%zu finding%s of drift; see: gpupass reconcile --dry-run",
				 m->drift->n_items, m->drift->n_items == 1 ? "" : "s");
	if (r >= 0)
		r = claims_note_unread(m->claims, &notes);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(sources); i++)
		for (char *const *note = sources[i]; r >= 0 && note && *note; note++)
			r = strv_append(&notes, *note);
	if (r >= 0)
		*ret = TAKE_PTR(notes);
	return r;
}

void manager_observe(Manager *m)
{
	char **notes = NULL;
	int r = 0;

	if (m->inventory)
		r = groups_observe(m->inventory->groups, m->uses, m->assignments,
				   &m->rules->policy);
	for (size_t i = 0; r >= 0 && m->inventory && i < m->inventory->groups->n_items; i++)
		overlay(m, &m->inventory->groups->items[i]);
	if (r >= 0) {
		manager_observe_drift(m);
		r = collect_notes(m, &notes);
	}
	if (r < 0) {
		log_error("out of memory: the picture of this host may be old");
		return;
	}
	strv_free(m->notes);
	m->notes = notes;
	if (m->listener.objects_changed)
		m->listener.objects_changed(m->listener.userdata);
}

const Inventory *manager_inventory(const Manager *m)
{
	return m->inventory;
}

const Evidence *manager_evidence(const Manager *m)
{
	return m->inventory ? m->inventory->identities->evidence : NULL;
}

const Assignments *manager_assignments(const Manager *m)
{
	return m->assignments;
}

const DomainUses *manager_uses(const Manager *m)
{
	return m->uses;
}

char *const *manager_notes(const Manager *m)
{
	return m->notes;
}

bool manager_libvirt_connected(const Manager *m)
{
	return m->connected;
}

/* ---- life ---- */

JobPlace manager_job_place(Manager *m)
{
	return (JobPlace){
		.host = m->place.host,
		.store = m->place.store,
		.receipts = m->place.receipts,
		.journal = m->place.journal,
		.quarantine = m->place.quarantine,
		.tenants = m->place.tenants,
		.topology = m->place.topology,
		.claims = m->claims,
		.disk = m->disk,
		.health = m->health_look,
		.rules = m->rules,
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

int manager_new(const ManagerPlace *place, Manager **ret)
{
	_cleanup_(manager_freep) Manager *m = calloc(1, sizeof(Manager));
	int r;

	if (!m)
		return -ENOMEM;
	m->place = *place;
	manager_init_looks(m);
	r = claims_new(&m->claims);
	if (r >= 0)
		r = disk_watch_new(&m->disk);
	if (r >= 0)
		r = health_look_new(&m->health_look);
	if (r >= 0)
		r = config_load_rules(place->config_directory, &place->policy, &m->rules,
				      &m->config_notes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

void manager_set_listener(Manager *m, const ManagerListener *listener)
{
	m->listener = *listener;
}

/* Only when no thread works for it any more. */
Manager *manager_free(Manager *m)
{
	if (!m)
		return NULL;
	manager_clear_looks(m);
	for (size_t i = 0; i < m->n_jobs; i++)
		job_record_free(m->jobs[i]);
	free(m->jobs);
	verdicts_clear(&m->verdicts);
	inventory_free(m->inventory);
	assignments_free(m->assignments);
	tenants_free(m->tenants);
	free(m->tenants_note);
	domain_uses_free(m->uses);
	rules_unref(m->rules);
	claims_free(m->claims);
	disk_watch_free(m->disk);
	health_look_free(m->health_look);
	strv_free(m->config_notes);
	strv_free(m->store_notes);
	strv_free(m->state_notes);
	open_jobs_free(m->open_jobs, m->n_open_jobs);
	strv_free(m->notes);
	boot_faults_free(m->boot);
	drift_free(m->drift);
	gpu_healths_free(m->health, m->n_health);
	free(m->scan_note);
	free(m->uses_note);
	free(m);
	return NULL;
}
