/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/picture.h"

#include "core/group/observe.h"
#include "manager/audit.h"
#include "manager/records.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/log.h"

/* The number of notes about domains whose XML is not known; the doctor reports all of them. */
#define UNREAD_NOTES_MAX 8

static void set_moving(Group *group, GroupState state, char *reason)
{
	group->state = state;
	group->assignable = false;
	free(group->reason);
	group->reason = reason;
}

/* Why a function of this group was not bound at boot, if it still is not; else NULL. */
static char *boot_reason(const Manager *m, const Group *group)
{
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);

	for (size_t i = 0; i < n; i++) {
		const BootFault *fault = boot_faults_find(m->boot, &functions[i]->bdf);
		_cleanup_free_ char *text = NULL;

		if (!fault || pci_function_on_vfio(functions[i]))
			continue;
		text = boot_fault_text(fault);
		return strf("at boot %s was not bound: %s", BDF_TEXT(&functions[i]->bdf), text);
	}
	return NULL;
}

static void add_boot_reason(const Manager *m, Group *group)
{
	_cleanup_free_ char *boot = boot_reason(m, group);
	char *before = group->reason;

	if (!boot)
		return;
	group->reason = strf("%s; %s", str_or_empty(before), boot);
	free(before);
}

/* Adds what only the manager knows: the state of a group that a job moves, and quarantine. */
static void overlay(Manager *m, Group *group)
{
	uint32_t id = manager_group_job(m, group);
	size_t n;
	_cleanup_free_ const PciFunction **leads = group_leads(group, &n);
	char *reason = NULL;

	if (id > 0) {
		set_moving(group, job_record_moving_state(manager_job(m, id)), strf("job %u", id));
		return;
	}
	for (size_t i = 0; i < n && !reason; i++)
		reason = claims_quarantine_reason(m->place.job.claims, &leads[i]->bdf, NULL);
	if (reason)
		set_moving(group, GROUP_QUARANTINED, reason);
	else if (group->state == GROUP_DEGRADED)
		add_boot_reason(m, group);
}

static void note_unread(const DomainUses *uses, char ***notes)
{
	size_t n = 0, position = 0;
	const DomainUse *use;

	while (uses && n < UNREAD_NOTES_MAX && (use = domain_uses_unread(uses, &position))) {
		strv_appendf(notes,
			     "what domain %s (%s) has cannot be told, so %s%s; see: "
			     "gpupass doctor",
			     use->name, use->uuid, domain_use_unread_so(use), use->unread);
		n++;
	}
}

/* The number of notes about split groups; the doctor reports all of them. */
#define SPLIT_NOTES_MAX 8

/* A whole group of another domain shows in the group's own state and reason. */
static void note_split(const FenceReport *report, char ***notes)
{
	size_t n = 0;

	for (size_t i = 0; report && i < report->n_items && n < SPLIT_NOTES_MAX; i++) {
		if (!report->items[i].split)
			continue;
		strv_appendf(notes, "%s; %s", report->items[i].what, report->items[i].remedy);
		n++;
	}
}

static void note_faults(const RecordFaults *faults, char ***notes)
{
	for (size_t i = 0; i < faults->n_items; i++)
		strv_append_take(notes, record_fault_note(&faults->items[i]));
}

/* Each is logged once, while it lasts. The claims tell of quarantines. */
static void note_files(Manager *m)
{
	RecordStore *const stores[] = {
		m->place.job.store ? m->place.job.store->kept : NULL,
		m->place.job.receipts,
		m->place.job.topology ? &m->place.job.topology->records : NULL,
	};
	char **notes = NULL;

	if (m->assignments)
		note_faults(&m->assignments->faults, &notes);
	if (m->tenants)
		note_faults(&m->tenants->faults, &notes);
	for (size_t i = 0; i < ELEMENTS(stores); i++)
		if (stores[i])
			records_note(stores[i], &notes);
	for (char **note = notes; note && *note; note++)
		if (!strv_contains(m->file_notes, *note))
			log_as(LOG_WARNING, LOG_ID_NOT_READ, "%s", *note);
	strv_free(m->file_notes);
	m->file_notes = notes;
}

/* Its boards are those of one group, which is kept by this file. */
static bool is_in_force(const Manager *m, const Assignment *kept)
{
	const Group *group = group_set_find_gpu(m->inventory->groups, &kept->functions[0].bdf);

	return group && group->kept == KEPT_ASKED;
}

/* Each kept group that a person asked for and that is no group as it was then. */
static void note_kept(const Manager *m, char ***notes)
{
	for (size_t i = 0; m->inventory && m->assignments && i < m->assignments->n_kept; i++) {
		const Assignment *kept = m->assignments->kept[i];

		if (kept->kept != KEPT_ASKED || is_in_force(m, kept))
			continue;
		strv_appendf(notes,
			     "%s was to be kept on vfio-pci (gpupass bind --persist), but its "
			     "boards at %s and elsewhere are not there as they were, or not one "
			     "group; bind it again with --persist, or remove kept.d/%s",
			     kept->group_name, BDF_TEXT(&kept->functions[0].bdf), kept->file);
	}
}

static char **collect_notes(Manager *m)
{
	const char *const single[] = { m->place.host_note, m->scan_note, m->tenants_note,
				       m->kept_note };
	char **notes = NULL;
	_cleanup_free_ char *disk = disk_watch_reason(m->place.job.disk);
	char *const *sources[] = { m->config_notes, m->file_notes, m->state_notes,
				   m->inventory ? m->inventory->groups->notes : NULL };

	if (disk)
		strv_appendf(&notes,
			     "%s; nothing is assigned or released until the daemon's files can "
			     "be written again",
			     disk);
	for (size_t i = 0; i < ELEMENTS(single); i++)
		if (single[i])
			strv_append(&notes, single[i]);
	note_kept(m, &notes);
	if (m->fence_note)
		strv_append(&notes, m->fence_note);
	tenancy_notes(&(TenancyFacts){ .tenants = m->tenants,
				       .gpus = m->inventory ? m->inventory->gpus : NULL },
		      &notes);
	if (m->connected && m->uses_note)
		strv_append(&notes, m->uses_note);
	note_unread(m->uses, &notes);
	note_split(m->foreign, &notes);
	if (!m->connected)
		strv_append(&notes, "libvirt does not answer: domains are not known, and "
				    "nothing can be assigned or released");
	if (m->drift && m->drift->n_items > 0)
		strv_appendf(&notes, "%zu finding%s of drift; see: gpupass reconcile --dry-run",
			     m->drift->n_items, m->drift->n_items == 1 ? "" : "s");
	claims_note_files(m->place.job.claims, &notes);
	for (size_t i = 0; i < ELEMENTS(sources); i++)
		for (char *const *note = sources[i]; note && *note; note++)
			strv_append(&notes, *note);
	return notes;
}

/* ---- what a picture brings to light ---- */

static void log_drift_finding(Manager *m, const DriftFinding *finding, bool gone)
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

static void log_drift(Manager *m, const Drift *before, const Drift *now)
{
	for (size_t i = 0; before && i < before->n_items; i++)
		if (!drift_has(now, &before->items[i]))
			log_drift_finding(m, &before->items[i], true);
	for (size_t i = 0; i < now->n_items; i++)
		if (!drift_has(before, &now->items[i]))
			log_drift_finding(m, &now->items[i], false);
}

/* Each finding is logged once when it comes and once when it goes. */
static void observe_drift(Manager *m)
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
		.host_key = m->place.job.host_key,
		.n_nodes = m->inventory->facts ? m->inventory->facts->n_nodes : 0,
	};
	now = drift_find(&facts);
	m->drift_usec = now_realtime();
	log_drift(m, m->drift, now);
	drift_free(m->drift);
	m->drift = now;
	m->hooks->drift_found(m);
}

static void report_foreign(Manager *m, const FenceFinding *f, bool gone)
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

static void report_all_foreign(Manager *m, const FenceReport *before, const FenceReport *now)
{
	for (size_t i = 0; before && i < before->n_items; i++)
		if (!fence_report_has(now, &before->items[i]))
			report_foreign(m, &before->items[i], true);
	for (size_t i = 0; i < now->n_items; i++)
		if (!fence_report_has(before, &now->items[i]))
			report_foreign(m, &now->items[i], false);
}

/* Domains that have a part of a group, or a group that is not assigned to them. */
static void observe_foreign(Manager *m)
{
	FenceReport *now = NULL;

	/* A job puts functions into a domain one after another. */
	if (!m->inventory || !m->assignments || !m->uses || manager_job_runs(m))
		return;
	now = fence_report(m->inventory->groups, m->uses, m->assignments);
	report_all_foreign(m, m->foreign, now);
	fence_report_free(m->foreign);
	m->foreign = now;
}

void manager_observe(Manager *m)
{
	if (m->inventory)
		vf_watch_settle(m->place.job.vfs, m->inventory->groups, false);
	if (m->inventory)
		groups_observe(m->inventory->groups, m->uses, m->assignments, m->tenants,
			       &m->rules->policy);
	for (size_t i = 0; m->inventory && i < m->inventory->groups->n_items; i++)
		overlay(m, &m->inventory->groups->items[i]);
	observe_drift(m);
	observe_foreign(m);
	note_files(m);
	strv_free(m->notes);
	m->notes = collect_notes(m);
	if (m->listener.objects_changed)
		m->listener.objects_changed(m->listener.userdata);
}

const Inventory *manager_inventory(const Manager *m)
{
	return m->inventory;
}

const Group *manager_find_group(const Manager *m, const char *name)
{
	if (!m->inventory || !m->assignments)
		return NULL;
	return group_set_find_named(m->inventory->groups, m->assignments, name);
}

const Group *manager_group_in_hand(const Manager *m, const Bdf *lead)
{
	const Group *group = m->inventory ? group_set_find_gpu(m->inventory->groups, lead) : NULL;

	return group && (group->state == GROUP_QUARANTINED || manager_group_job(m, group) > 0)
		       ? group
		       : NULL;
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
	return m->connected && manager_domain_source(m) == DOMAINS_LIBVIRT;
}

DomainSource manager_domain_source(const Manager *m)
{
	return m->place.policy.domains;
}
