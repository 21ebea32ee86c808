/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/tenants.h"

#include <string.h>

#include "manager/picture.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

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
	Manager *manager;
	TenantStore *store;
	Claims *claims;
	uint64_t looked;
	TenantMark *marks;
	size_t n;
	int failed;	  /* -errno of a mark that could not be written */
	Tenants *tenants; /* the marks, read again */
} NoteTask;

static NoteTask *note_task_free(NoteTask *task)
{
	if (!task)
		return NULL;
	for (size_t i = 0; i < task->n; i++)
		tenant_mark_clear(&task->marks[i]);
	free(task->marks);
	tenants_free(task->tenants);
	free(task);
	return NULL;
}
DEFINE_CLEANUP(NoteTask, note_task_free)

static void note_work(void *data)
{
	NoteTask *task = data;

	tenant_store_note(task->store, task->claims, task->looked, task->marks, task->n,
			  &task->failed);
	task->tenants = tenant_store_load(task->store);
}

/* After a failure the next look tries again. Trying at once could go on for ever. */
static void note_done(void *data)
{
	_cleanup_(note_task_freep) NoteTask *task = data;
	_cleanup_free_ char *told = NULL;
	Manager *m = task->manager;

	m->noting_tenants = false;
	told = m->tenants_note;
	m->tenants_note = NULL;
	if (task->failed < 0) {
		disk_watch_note(m->disk, "a mark of a tenant", task->failed);
		m->tenants_note =
			strf("who uses a board could not be stored: %s", strerror(-task->failed));
		if (!told)
			log_as(LOG_ERR, LOG_ID_NOT_WRITTEN,
			       "who uses a board could not be stored: %s", strerror(-task->failed));
	}
	tenants_free(m->tenants);
	m->tenants = TAKE_PTR(task->tenants);
	manager_observe(m);
	if (m->note_tenants_again)
		manager_note_tenants(m);
}

static void collect(const Manager *m, NoteTask *task)
{
	const GpuSet *gpus = m->inventory->gpus;

	task->marks = xcalloc(gpus->n_gpus + 1, sizeof(TenantMark));
	for (size_t i = 0; i < gpus->n_gpus; i++) {
		const Tenancy tenancy = manager_gpu_tenancy(m, &gpus->gpus[i]);

		if (!tenancy_is_news(&tenancy))
			continue;
		task->marks[task->n++] = tenancy_mark(&tenancy, &gpus->gpus[i], now_realtime());
	}
}

void manager_note_tenants(Manager *m)
{
	_cleanup_(note_task_freep) NoteTask *task = NULL;

	m->note_tenants_again = m->noting_tenants;
	/* Without the domains, do nothing: the next look at them calls this again. */
	if (!m->inventory || !m->tenants || !m->uses || m->noting_tenants)
		return;
	task = xcalloc(1, sizeof(NoteTask));
	collect(m, task);
	if (task->n == 0)
		return;
	task->manager = m;
	task->store = m->place.tenants;
	task->claims = m->claims;
	task->looked = m->uses_looked;
	m->noting_tenants = mailbox_run(m->place.mailbox, note_work, note_done, task) >= 0;
	if (m->noting_tenants)
		TAKE_PTR(task);
	else
		log_error("no thread could be started: who uses a board was not stored");
}
