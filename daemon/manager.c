/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager.h"

#include <string.h>

#include "manager-private.h"
#include "util/log.h"
#include "util/text.h"

/* ---- looking at the machine, off the loop ---- */

static int waiter_add(Waiter **list, ManagerDone done, void *userdata)
{
	Waiter *waiter;

	if (!done)
		return 0;
	waiter = calloc(1, sizeof(Waiter));
	if (!waiter)
		return -ENOMEM;
	*waiter = (Waiter){ .next = *list, .done = done, .userdata = userdata };
	*list = waiter;
	return 0;
}

static void waiters_tell(Waiter *waiter)
{
	while (waiter) {
		Waiter *next = waiter->next;

		waiter->done(waiter->userdata);
		free(waiter);
		waiter = next;
	}
}

static int look_request(Manager *m, Look *look, ManagerDone done, void *userdata)
{
	int r;

	r = waiter_add(look->running ? &look->next : &look->current, done, userdata);
	if (r < 0)
		return r;
	if (look->running) {
		look->again = true;
		return 0;
	}
	look->running = true;
	r = look->start(m);
	if (r < 0)
		look->running = false;
	return r;
}

static void look_finished(Manager *m, Look *look)
{
	Waiter *told = TAKE_PTR(look->current);

	look->running = false;
	if (look->again) {
		look->again = false;
		look->current = TAKE_PTR(look->next);
		look->running = true;
		if (look->start(m) < 0) {
			look->running = false;
			log_error("out of memory: the picture of this host may be old");
		}
	}
	waiters_tell(told);
}

typedef struct ScanTask {
	Manager *manager;
	Host *host;
	const AssignmentStore *store;
	Rules *rules;
	Identities *known;
	Inventory *inventory;
	Assignments *assignments;
	char **notes;
	int result;
} ScanTask;

static ScanTask *scan_task_free(ScanTask *task)
{
	if (!task)
		return NULL;
	rules_unref(task->rules);
	identities_free(task->known);
	inventory_free(task->inventory);
	assignments_free(task->assignments);
	strv_free(task->notes);
	free(task);
	return NULL;
}
DEFINE_CLEANUP(ScanTask, scan_task_free)

static void scan_work(void *data)
{
	ScanTask *task = data;

	task->result = assignment_store_load(task->store, &task->assignments, &task->notes);
	if (task->result >= 0)
		task->result = inventory_take(task->host, task->rules, task->assignments,
					      task->known, &task->inventory);
}

static void scan_done(void *data)
{
	_cleanup_(scan_task_freep) ScanTask *task = data;
	Manager *m = task->manager;

	free(m->scan_note);
	m->scan_note = NULL;
	if (task->result < 0) {
		m->scan_note =
			strf("the last scan of this host failed: %s", strerror(-task->result));
		log_error("cannot scan this host: %s", strerror(-task->result));
	} else {
		inventory_free(m->inventory);
		m->inventory = TAKE_PTR(task->inventory);
		assignments_free(m->assignments);
		m->assignments = TAKE_PTR(task->assignments);
		strv_free(m->store_notes);
		m->store_notes = TAKE_PTR(task->notes);
	}
	manager_observe(m);
	manager_look_at_health(m);
	look_finished(m, &m->scan);
}

static int scan_start(Manager *m)
{
	_cleanup_(scan_task_freep) ScanTask *task = calloc(1, sizeof(ScanTask));
	int r;

	if (!task)
		return -ENOMEM;
	task->manager = m;
	task->host = m->place.host;
	task->store = m->place.store;
	task->rules = rules_ref(m->rules);
	r = identities_copy(m->inventory ? m->inventory->identities : NULL, &task->known);
	if (r >= 0) {
		_cleanup_(evidence_unrefp) Evidence *evidence =
			topology_store_get(m->place.topology);

		identities_set_evidence(task->known, evidence);
		r = mailbox_run(m->place.mailbox, scan_work, scan_done, task);
	}
	if (r < 0)
		return r;
	TAKE_PTR(task);
	return 0;
}

typedef struct UsesTask {
	Manager *manager;
	Host *host;
	DomainUses *uses;
	Problem *problem;
	int result;
} UsesTask;

static void uses_work(void *data)
{
	UsesTask *task = data;

	task->result = task->host->ops->domain_uses(task->host, &task->uses, &task->problem);
}

static char *uses_note(const Problem *problem, int error)
{
	return strf("libvirt's domains cannot be read, so nothing can be assigned or released: "
		    "%s%s%s",
		    problem ? problem->reason : strerror(-error),
		    problem && problem->cause ? ": " : "",
		    problem ? str_or_empty(problem->cause) : "");
}

static void uses_done(void *data)
{
	UsesTask *task = data;
	Manager *m = task->manager;

	/* When they cannot be had, what is known no longer is: better "not known" than old. */
	domain_uses_free(m->uses);
	m->uses = task->result == 0 ? TAKE_PTR(task->uses) : NULL;
	free(m->uses_note);
	m->uses_note = task->result == 0 ? NULL : uses_note(task->problem, task->result);
	problem_free(task->problem);
	free(task);
	manager_observe(m);
	look_finished(m, &m->uses_look);
}

static int uses_start(Manager *m)
{
	UsesTask *task = calloc(1, sizeof(UsesTask));
	int r;

	if (!task)
		return -ENOMEM;
	*task = (UsesTask){ .manager = m, .host = m->place.host };
	r = mailbox_run(m->place.mailbox, uses_work, uses_done, task);
	if (r < 0)
		free(task);
	return r;
}

int manager_rescan(Manager *m, ManagerDone done, void *userdata)
{
	return look_request(m, &m->scan, done, userdata);
}

void manager_libvirt_changed(Manager *m, bool connected)
{
	m->connected = connected;
	if (connected) {
		if (look_request(m, &m->uses_look, NULL, NULL) < 0)
			log_error("out of memory: libvirt's domains were not read");
		return;
	}
	m->uses = domain_uses_free(m->uses);
	manager_observe(m);
}

typedef struct Refresh {
	Manager *manager;
	ManagerDone done;
	void *userdata;
} Refresh;

static void refresh_done(void *userdata)
{
	Refresh *refresh = userdata;

	refresh->done(refresh->userdata);
	free(refresh);
}

static void refresh_scanned(void *userdata)
{
	Refresh *refresh = userdata;
	Manager *m = refresh->manager;

	if (!m->connected || look_request(m, &m->uses_look, refresh_done, refresh) < 0)
		refresh_done(refresh);
}

int manager_refresh(Manager *m, ManagerDone done, void *userdata)
{
	Refresh *refresh = calloc(1, sizeof(Refresh));
	int r;

	if (!refresh)
		return -ENOMEM;
	*refresh = (Refresh){ .manager = m, .done = done, .userdata = userdata };
	r = look_request(m, &m->scan, refresh_scanned, refresh);
	if (r < 0)
		free(refresh);
	return r;
}

/* ---- the picture ---- */

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
		reason = claims_quarantine_reason(m->claims, &group->gpus[i]->lead->bdf);
	if (reason)
		set_moving(group, GROUP_QUARANTINED, reason);
	else if (group->state == GROUP_DEGRADED)
		add_boot_reason(m, group);
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
	if (r >= 0 && m->connected && m->uses_note)
		r = strv_append(&notes, m->uses_note);
	if (r >= 0 && !m->connected)
		r = strv_append(&notes, "libvirt does not answer: domains are not known, and "
					"nothing can be assigned or released");
	if (r >= 0 && m->drift && m->drift->n_items > 0)
		r = strv_appendf(&notes, "%zu finding%s of drift; see: gpupass reconcile --dry-run",
				 m->drift->n_items, m->drift->n_items == 1 ? "" : "s");
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
	m->scan.start = scan_start;
	m->uses_look.start = uses_start;
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

static void waiters_free(Waiter *waiter)
{
	while (waiter) {
		Waiter *next = waiter->next;

		free(waiter);
		waiter = next;
	}
}

/* Only when no thread works for it any more. */
Manager *manager_free(Manager *m)
{
	if (!m)
		return NULL;
	waiters_free(m->scan.current);
	waiters_free(m->scan.next);
	waiters_free(m->uses_look.current);
	waiters_free(m->uses_look.next);
	for (size_t i = 0; i < m->n_jobs; i++)
		job_record_free(m->jobs[i]);
	free(m->jobs);
	verdicts_clear(&m->verdicts);
	inventory_free(m->inventory);
	assignments_free(m->assignments);
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
