/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/upkeep.h"

#include "core/group/keep.h"
#include "manager/jobs.h"
#include "manager/picture.h"
#include "manager/records.h"
#include "manager/recover.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/log.h"

/* ---- who has which board ---- */

static TenancyFacts facts_of(const Manager *m)
{
	return (TenancyFacts){
		.tenants = m->tenants,
		.gpus = m->inventory ? m->inventory->gpus : NULL,
		.assignments = m->assignments,
		.uses = m->uses,
	};
}

Tenancy manager_gpu_tenancy(const Manager *m, const Gpu *gpu)
{
	const TenancyFacts facts = facts_of(m);

	return tenancy_of(&facts, gpu);
}

typedef struct NoteTask {
	Manager *manager _borrowed_;
	uint64_t looked;
	TenantMark *marks;
	size_t n_marks;
	int failed;	  /* -errno of a mark that could not be written */
	Tenants *tenants; /* the marks, read again */
} NoteTask;
LOCAL_FREE(NoteTask, note_task_free)

static void note_work(void *data)
{
	NoteTask *task = data;
	const JobPlace *place = &task->manager->place.job;

	tenant_store_note(place->tenants, place->claims, task->looked, task->marks, task->n_marks,
			  &task->failed);
	task->tenants = tenant_store_load(place->tenants);
}

/* After a failure the next look tries again. Trying at once could go on for ever. */
static void note_done(void *data)
{
	_cleanup_(note_task_freep) NoteTask *task = data;
	Manager *m = task->manager;

	m->noting_tenants = false;
	manager_note_unwritten(m, &m->tenants_note, "a mark of a tenant", task->failed,
			       "who uses a board could not be stored", "");
	tenants_free(m->tenants);
	m->tenants = TAKE_PTR(task->tenants);
	manager_observe(m);
	if (m->note_tenants_again)
		manager_note_tenants(m);
}

static void collect_companion_marks(const Manager *m, const Group *group, NoteTask *task)
{
	size_t n;
	_cleanup_free_ Gpu *boards = group_boards(group, &n);

	for (size_t i = group->n_gpus; i < n; i++) {
		const Tenancy tenancy = manager_gpu_tenancy(m, &boards[i]);

		if (tenancy_is_news(&tenancy))
			*GROW(task->marks, task->n_marks) =
				tenancy_mark(&tenancy, &boards[i], now_realtime());
	}
}

static void collect_marks(const Manager *m, NoteTask *task)
{
	const GpuSet *gpus = m->inventory->gpus;

	for (size_t i = 0; i < gpus->n_gpus; i++) {
		const Tenancy tenancy = manager_gpu_tenancy(m, &gpus->gpus[i]);

		if (tenancy_is_news(&tenancy))
			*GROW(task->marks, task->n_marks) =
				tenancy_mark(&tenancy, &gpus->gpus[i], now_realtime());
	}
	for (size_t i = 0; i < m->inventory->groups->n_items; i++)
		collect_companion_marks(m, &m->inventory->groups->items[i], task);
}

void manager_note_tenants(Manager *m)
{
	_cleanup_(note_task_freep) NoteTask *task = NULL;

	m->note_tenants_again = m->noting_tenants;
	/* Without the domains, do nothing: the next look at them calls this again. */
	if (!m->inventory || !m->tenants || !m->uses || m->noting_tenants)
		return;
	task = xcalloc(1, sizeof(NoteTask));
	collect_marks(m, task);
	if (task->n_marks == 0)
		return;
	task->manager = m;
	task->looked = m->uses_looked;
	m->noting_tenants = true;
	mailbox_run(m->place.mailbox, note_work, note_done, TAKE_PTR(task));
}

/* ---- what KeepBound= keeps ---- */

typedef struct FollowTask {
	Manager *manager _borrowed_;
	Assignments *wanted, *gone;
	int result;
} FollowTask;
LOCAL_FREE(FollowTask, follow_task_free)

static void collect_wanted(const Manager *m, Assignments *wanted)
{
	const GroupSet *groups = m->inventory->groups;

	for (size_t i = 0; i < groups->n_items; i++) {
		Assignment *kept = NULL;

		/* The file has its VFs, which somebody has taken away, and are made again. */
		if (groups->items[i].kept != KEPT_SETTING || group_lacks_vf(&groups->items[i]))
			continue;
		kept = group_keep(&groups->items[i], KEPT_SETTING, now_realtime(), 0, NULL);
		kept_add(wanted, kept);
	}
}

/* A board that is out for a while is kept when it returns, whether the daemon runs then or not. */
static bool is_whole(const Manager *m, const Assignment *kept)
{
	return EVERY(kept->functions, kept->n_functions,
		     pci_snapshot_find(m->inventory->snapshot, &it->bdf));
}

static void collect_gone(const Manager *m, const Assignments *wanted, Assignments *gone)
{
	for (size_t i = 0; i < m->assignments->n_kept; i++) {
		const Assignment *stored = m->assignments->kept[i];

		if (stored->kept != KEPT_SETTING ||
		    SOME_OF(wanted->kept, wanted->n_kept, kept_covers(stored, it)) ||
		    (m->rules->policy.keep_bound && !is_whole(m, stored)))
			continue;
		kept_add(gone, assignment_copy(stored));
	}
}

/* Tells the operator once, and again at each look that fails. */
static void follow_done(void *data)
{
	_cleanup_(follow_task_freep) FollowTask *task = data;
	Manager *m = task->manager;

	m->following_kept = false;
	manager_note_unwritten(m, &m->kept_note, "the kept groups", task->result,
			       "which groups KeepBound= keeps could not be stored, so the next "
			       "boot may not bind them",
			       "");
	if (task->result < 0)
		manager_observe(m);
	else
		look_request(m, &m->scan, NULL, NULL);
}

/* The loop reads no config space. What sleeps goes without. */
static void add_serial_numbers(Host *host, Assignment *kept)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	_cleanup_free_ Bdf *functions = BDF_LIST(kept->functions, kept->n_functions);

	if (host_glance(host, functions, kept->n_functions, INSPECT_CONFIG_AWAKE, &in, NULL) != 0)
		return;
	EACH (AssignedFunction, f, kept->functions, kept->n_functions) {
		const FunctionFacts *facts = inspection_find(in, &f->bdf);

		if (facts && !f->serial_number)
			f->serial_number = xstrdup(facts->serial_number);
	}
}

static void follow_work(void *data)
{
	FollowTask *task = data;

	for (size_t i = 0; i < task->wanted->n_kept; i++)
		add_serial_numbers(task->manager->place.job.host, task->wanted->kept[i]);

	task->result =
		kept_store_follow(task->manager->place.job.store->kept, task->wanted, task->gone);
}

void manager_follow_kept(Manager *m)
{
	_cleanup_(follow_task_freep) FollowTask *task = NULL;

	/* With a fault in groups.d the groups are not those that the operator means. */
	if (m->following_kept || !m->inventory || !m->assignments || !m->place.job.store->kept ||
	    m->config_notes)
		return;
	task = xcalloc(1, sizeof(FollowTask));
	task->manager = m;
	task->wanted = xcalloc(1, sizeof(Assignments));
	task->gone = xcalloc(1, sizeof(Assignments));
	collect_wanted(m, task->wanted);
	collect_gone(m, task->wanted, task->gone);
	if (EVERY_OF(task->wanted->kept, task->wanted->n_kept,
		     kept_is_served(m->assignments, it)) &&
	    task->gone->n_kept == 0)
		return;
	m->following_kept = true;
	mailbox_run(m->place.mailbox, follow_work, follow_done, TAKE_PTR(task));
}

/* ---- groups that are not ready for a domain ---- */

/* After a failure; twice as long after each that follows, at most 5 hours. */
#define PREPARE_PAUSE_USEC (5 * 60 * USEC_PER_SEC)
#define PREPARE_DOUBLED_MAX 6

/*
 * A job that had in hand what this one was refused has ended since, and its end is when to try
 * again. Other things that keep a group busy stay, such as a damaged file; so do those that other
 * prepares fail by.
 */
static bool was_in_the_way(const Manager *m, const JobRecord *refused)
{
	return str_equal(refused->error_name, problem_dbus_name(GPUPASS_ERROR_GROUP_BUSY)) &&
	       SOME_OF(m->jobs, m->n_jobs,
		       it->ended && it != refused &&
			       (it->operation != OPERATION_PREPARE || it->state == JOB_DONE) &&
			       it->started_usec + it->duration_usec >= refused->started_usec);
}

/* A job works on it, or the last prepares of it have failed. */
static bool leave_for_now(const Manager *m, const Group *group)
{
	const JobRecord *last = NULL;
	unsigned doubled = 0;

	if (manager_group_job(m, group) > 0)
		return true;
	for (size_t i = m->n_jobs; i-- > 0 && doubled < PREPARE_DOUBLED_MAX;) {
		const JobRecord *job = m->jobs[i];

		if (job->operation != OPERATION_PREPARE || !str_equal(job->group, group->name))
			continue;
		if (!job->ended)
			return true;
		if (job->state == JOB_DONE || (!last && was_in_the_way(m, job)))
			break;
		doubled += last != NULL;
		last = last ? last : job;
	}
	return last && now_monotonic() < last->started_usec + last->duration_usec +
						 (PREPARE_PAUSE_USEC << doubled);
}

/* A job has in hand what this one would reach: two groups have VFs of one NIC. */
static bool is_reached(const Manager *m, const Group *group)
{
	const GroupSet *groups = m->inventory->groups;
	_cleanup_(footprint_clear) Footprint mine =
		footprint_of_group(m->inventory->snapshot, group);

	for (size_t i = 0; i < m->n_jobs; i++) {
		const Group *other = group_set_find(groups, m->jobs[i]->group);
		_cleanup_(footprint_clear) Footprint theirs = { 0 };

		if (m->jobs[i]->ended || !other || other == group)
			continue;
		theirs = footprint_of_group(m->inventory->snapshot, other);
		if (footprints_meet(&mine, &theirs))
			return true;
	}
	return false;
}

/* What stands in a file that a person may still be writing is no consent to an erase. */
static bool is_edited(const Manager *m, const Group *group)
{
	return SOME(m->rules->declarations->items, m->rules->declarations->n_items,
		    it->edited && str_equal(it->name, group->name));
}

static void prepare_group(Manager *m, Group *group)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	JobRequest request = {
		.plan = { .operation = OPERATION_PREPARE, .caller_uid = getuid(), .unasked = true },
		.group = group->name,
	};
	uint32_t id = 0;

	/* The next look tries again. */
	if (manager_start_job(m, &request, &id, &problem) != 0)
		log_warning("%s is not prepared for a domain: %s", group->name,
			    problem ? problem->reason : "this machine failed");
}

/*
 * With a fault in groups.d the groups are not those that the operator means, as in
 * manager_follow_kept(). What a domain has is not changed by that, and is not erased.
 */
static bool is_due(const Manager *m, const Group *group)
{
	if ((m->config_notes || is_edited(m, group)) && !group->domain_uuid)
		return false;
	return group->state == GROUP_UNREADY ||
	       (group_awaits_vf(group) && group->state != GROUP_QUARANTINED);
}

/* Not before it is known who has what: such a job would be refused, and wait for its next try. */
static void prepare_work(void *data)
{
	Manager *m = data;
	GroupSet *groups = m->inventory && m->uses ? m->inventory->groups : NULL;

	m->preparing = false;
	for (size_t i = 0; groups && !manager_has_open_jobs(m) && i < groups->n_items; i++)
		if (is_due(m, &groups->items[i]) && !leave_for_now(m, &groups->items[i]) &&
		    !is_reached(m, &groups->items[i]))
			prepare_group(m, &groups->items[i]);
}

/* Posted and not called: this runs within an observation, and starting a job begins another. */
void manager_prepare_groups(Manager *m)
{
	if (!m->preparing)
		mailbox_post(m->place.mailbox, prepare_work, m);
	m->preparing = true;
}

#include "upkeep.inc"
