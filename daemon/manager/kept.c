/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/kept.h"

#include <string.h>

#include "core/group/keep.h"
#include "manager/look.h"
#include "manager/picture.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct FollowTask {
	Manager *manager;
	KeptStore *store;
	Assignments *wanted, *gone;
	int result;
} FollowTask;

static FollowTask *follow_task_free(FollowTask *task)
{
	if (!task)
		return NULL;
	assignments_free(task->wanted);
	assignments_free(task->gone);
	free(task);
	return NULL;
}
DEFINE_CLEANUP(FollowTask, follow_task_free)

static bool is_wanted(const Assignments *wanted, const Assignment *stored)
{
	for (size_t i = 0; i < wanted->n_kept; i++)
		if (kept_covers(stored, wanted->kept[i]))
			return true;
	return false;
}

static void collect_wanted(const Manager *m, Assignments *wanted)
{
	const GroupSet *groups = m->inventory->groups;

	for (size_t i = 0; i < groups->n_items; i++) {
		Assignment *kept = NULL;

		if (groups->items[i].kept != KEPT_SETTING)
			continue;
		kept = group_keep(&groups->items[i], KEPT_SETTING, now_realtime(), 0);
		kept_add(wanted, kept);
	}
}

/* A board that is out for a while is kept when it returns, whether the daemon runs then or not. */
static bool is_whole(const Manager *m, const Assignment *kept)
{
	for (size_t i = 0; i < kept->n_functions; i++)
		if (!pci_snapshot_find(m->inventory->snapshot, &kept->functions[i].bdf))
			return false;
	return true;
}

static void collect_gone(const Manager *m, const Assignments *wanted, Assignments *gone)
{
	for (size_t i = 0; i < m->assignments->n_kept; i++) {
		const Assignment *stored = m->assignments->kept[i];

		if (stored->kept != KEPT_SETTING || is_wanted(wanted, stored) ||
		    (m->rules->policy.keep_bound && !is_whole(m, stored)))
			continue;
		kept_add(gone, assignment_copy(stored));
	}
}

/* Tells the operator once, and again at each look that fails. */
static void follow_done(void *data)
{
	_cleanup_(follow_task_freep) FollowTask *task = data;
	_cleanup_free_ char *told = NULL;
	Manager *m = task->manager;

	m->following_kept = false;
	told = m->kept_note;
	m->kept_note = NULL;
	if (task->result < 0) {
		disk_watch_note(m->disk, "the kept groups", task->result);
		m->kept_note =
			strf("which groups KeepBound= keeps could not be stored, so the next "
			     "boot may not bind them: %s",
			     strerror(-task->result));
		if (!told)
			log_as(LOG_ERR, LOG_ID_NOT_WRITTEN, "%s", m->kept_note);
		manager_observe(m);
	} else if (look_request(m, &m->scan, NULL, NULL) < 0) {
		log_error("no thread could be started: the kept groups were not read again");
	}
}

static void follow_work(void *data)
{
	FollowTask *task = data;

	task->result = kept_store_follow(task->store, task->wanted, task->gone);
}

static bool all_stored(const Manager *m, const Assignments *wanted)
{
	for (size_t i = 0; i < wanted->n_kept; i++)
		if (!kept_is_served(m->assignments, wanted->kept[i]))
			return false;
	return true;
}

static int follow_start(Manager *m)
{
	_cleanup_(follow_task_freep) FollowTask *task = xcalloc(1, sizeof(FollowTask));
	int r;

	task->manager = m;
	task->store = m->place.store->kept;
	task->wanted = xcalloc(1, sizeof(Assignments));
	task->gone = xcalloc(1, sizeof(Assignments));
	collect_wanted(m, task->wanted);
	collect_gone(m, task->wanted, task->gone);
	if (all_stored(m, task->wanted) && task->gone->n_kept == 0)
		return 0;
	r = mailbox_run(m->place.mailbox, follow_work, follow_done, task);
	m->following_kept = r >= 0;
	if (r >= 0)
		TAKE_PTR(task);
	return r;
}

void manager_follow_kept(Manager *m)
{
	/* With a fault in groups.d the groups are not those that the operator means. */
	if (m->following_kept || !m->inventory || !m->assignments || !m->place.store->kept ||
	    m->config_notes)
		return;
	if (follow_start(m) < 0)
		log_error("no thread could be started: the kept groups were not stored");
}
