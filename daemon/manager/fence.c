/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/fence.h"

#include "core/fence/make.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/grow.h"

typedef struct FenceTask {
	Manager *manager _borrowed_;
	Fence *fence; /* NULL: nothing is known that could be written */
	uint32_t *ended;
	size_t n_ended;
	int result;
} FenceTask;
LOCAL_FREE(FenceTask, fence_task_free)

/* What a job has in hand is closed by the job. */
static char *quarantine_of(const Bdf *function, bool *ret_itself, void *userdata)
{
	*ret_itself = claims_quarantined_itself(userdata, function);
	return claims_quarantine_reason(userdata, function, NULL);
}

static Fence *make(const Manager *m)
{
	return fence_make(&(FenceFacts){ .groups = m->inventory->groups,
					 .gpus = m->inventory->gpus,
					 .assignments = m->assignments,
					 .tenants = m->tenants,
					 .uses = m->uses,
					 .health = m->health,
					 .n_health = m->n_health,
					 .boot_id = m->place.job.journal->boot_id,
					 .quarantine = quarantine_of,
					 .userdata = m->place.job.claims });
}

static void fence_work(void *data)
{
	FenceTask *task = data;

	if (task->fence)
		task->result = fence_store_update(task->manager->place.job.fence, task->fence,
						  task->ended, task->n_ended, now_realtime());
}

/* What the file still keeps closed stays closed until a later look can write it. */
static void keep_for_later(Manager *m, FenceTask *task)
{
	m->fence_ended =
		xreallocarray(m->fence_ended, m->n_fence_ended + task->n_ended, sizeof(uint32_t));
	for (size_t i = 0; i < task->n_ended; i++)
		m->fence_ended[m->n_fence_ended++] = task->ended[i];
}

static void fence_done(void *data)
{
	_cleanup_(fence_task_freep) FenceTask *task = data;
	Manager *m = task->manager;

	manager_note_unwritten(m, &m->fence_note, "the fence", task->result,
			       "the fence of libvirt's hook could not be written",
			       ", so domains may be refused their GPUs");
	if (task->result < 0)
		keep_for_later(m, task);
	else if (task->fence)
		m->fence_usec = now_realtime();
	look_finished(m, &m->fence_look);
}

void manager_start_fence(Manager *m)
{
	FenceTask *task = xcalloc(1, sizeof(FenceTask));

	m->fence_old = false;
	if (m->inventory && m->assignments)
		task->fence = make(m);
	task->manager = m;
	if (task->fence) {
		task->ended = TAKE_PTR(m->fence_ended);
		task->n_ended = m->n_fence_ended;
		m->n_fence_ended = 0;
	}
	mailbox_run(m->place.mailbox, fence_work, fence_done, task);
}

void manager_write_fence(Manager *m, ManagerDone done, void *userdata)
{
	look_request(m, &m->fence_look, done, userdata);
}

void manager_renew_fence(Manager *m)
{
	if (m->fence_old)
		manager_write_fence(m, NULL, NULL);
}

void manager_open_fence(Manager *m, uint32_t job, ManagerDone done, void *userdata)
{
	*GROW(m->fence_ended, m->n_fence_ended) = job;
	manager_write_fence(m, done, userdata);
}

#include "fence.inc"
