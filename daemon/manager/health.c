/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/health.h"

#include "manager/picture.h"
#include "manager/records.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/log.h"
#include "util/xalloc.h"

/* Looks come in bursts. A worker for each GPU at every look would be expensive. */
#define HEALTH_INTERVAL_USEC (5 * USEC_PER_SEC)
/* What somebody who asks now and then is to hear: no event tells of a GPU that is lost. */
#define HEALTH_OLD_USEC (60 * USEC_PER_SEC)

const GpuHealth *manager_gpu_health(const Manager *m, const Bdf *lead)
{
	return gpu_healths_find(m->health, m->n_health, lead);
}

const GpuHealth *manager_gpu_healths(const Manager *m, size_t *ret_n)
{
	*ret_n = m->n_health;
	return m->health;
}

/* While a job moves or resets a board, it reads all ones, which says nothing about its health. */
static bool in_hand(const Manager *m, const Bdf *bdf)
{
	const Group *group = group_set_find_gpu(m->inventory->groups, bdf);

	return group && manager_group_job(m, group) > 0;
}

static bool is_lost(const GpuHealth *health)
{
	return health && health->error >= 0 && health->config.read && health->config.all_ones;
}

static bool answers(const GpuHealth *health)
{
	return health && health->error >= 0 && health->config.read && !health->config.all_ones;
}

/* Not while a look cannot tell: a GPU that sleeps, or that nobody could read, has not come back. */
static void log_lost(const Manager *m, const Bdf *lead, const GpuHealth *before,
		     const GpuHealth *now)
{
	const Group *group = group_set_find_gpu(m->inventory->groups, lead);
	LogFields fields = { .group = group ? group->name : NULL, .functions = BDF_TEXT(lead) };

	if (is_lost(now) && !is_lost(before)) {
		fields.message_id = LOG_ID_GPU_LOST;
		log_line(LOG_ERR, &fields,
			 "%s is lost: its config space reads all ones (remedy: gpupass doctor)",
			 fields.functions);
	} else if (is_lost(before) && answers(now)) {
		fields.message_id = LOG_ID_GPU_BACK;
		log_line(LOG_NOTICE, &fields, "%s answers again", fields.functions);
	}
}

/* What it can do stays known while it sleeps, and is not read. */
static void keep_config(const PcieConfig *before, PcieConfig *now)
{
	if (now->read || !before)
		return;
	now->speed_max = before->speed_max;
	now->width_max = before->width_max;
}

static void keep_links(const GpuHealth *before, GpuHealth *now)
{
	keep_config(&before->config, &now->config);
	for (size_t i = 0; i < now->n_ports; i++) {
		const HealthPort *port =
			BDF_FIND(before->ports, before->n_ports, &now->ports[i].bdf);

		keep_config(port ? &port->config : NULL, &now->ports[i].config);
	}
}

/* GPUs; behind them NICs and VFs of groups: their links are of use to who tells NCCL. */
static const PciFunction **list_leads(const Manager *m, size_t *ret_n)
{
	const Inventory *inventory = m->inventory;
	size_t n = inventory ? inventory->gpus->n_gpus : 0;
	const PciFunction **leads = xcalloc(n + 1, sizeof(*leads));

	for (size_t i = 0; i < n; i++)
		leads[i] = inventory->gpus->gpus[i].lead;
	EACH (const Group, group, inventory ? inventory->groups->items : NULL,
	      inventory ? inventory->groups->n_items : 0)
		EACH (const Companion, one, group->companions, group->n_companions)
			if (companion_is_nic(one))
				*GROW(leads, n) = one->function;
	*ret_n = n;
	return leads;
}

void manager_merge_health(Manager *m, GpuHealth *items, size_t n)
{
	size_t n_leads, n_merged = 0;
	_cleanup_free_ const PciFunction **leads = list_leads(m, &n_leads);
	GpuHealth *merged = xcalloc(n_leads + 1, sizeof(GpuHealth));

	for (size_t i = 0; i < n_leads; i++) {
		const Bdf *bdf = &leads[i]->bdf;
		GpuHealth *old = (GpuHealth *)gpu_healths_find(m->health, m->n_health, bdf);
		GpuHealth *new = (GpuHealth *)gpu_healths_find(items, n, bdf);
		GpuHealth *from = new && !in_hand(m, bdf) ? new : old;

		if (!from)
			continue;
		if (from != old && i < m->inventory->gpus->n_gpus)
			log_lost(m, bdf, old, from);
		if (from != old && old)
			keep_links(old, from);
		merged[n_merged++] = *from;
		*from = (GpuHealth){ 0 }; /* moved */
	}
	gpu_healths_free(items, n);
	gpu_healths_free(m->health, m->n_health);
	m->health = merged;
	m->n_health = n_merged;
}

typedef struct HealthTask {
	Manager *manager _borrowed_;
	PciFunction *leads; /* only their addresses and the ports above them */
	size_t n_leads;
	const PciFunction **pointers _owned_(free);
	GpuHealth *items _borrowed_; /* the manager takes them */
} HealthTask;
LOCAL_FREE(HealthTask, health_task_free)

static void health_work(void *data)
{
	HealthTask *task = data;
	Manager *m = task->manager;

	health_look(m->place.job.health, m->place.job.host, task->pointers, task->n_leads,
		    &task->items);
}

static void health_done(void *data)
{
	_cleanup_(health_task_freep) HealthTask *task = data;
	Manager *m = task->manager;

	m->health_running = false;
	m->health_usec = now_monotonic();
	manager_merge_health(m, TAKE_PTR(task->items), task->n_leads);
	manager_observe(m);
}

static void add_lead(HealthTask *task, const PciFunction *lead)
{
	PciFunction *copy = &task->leads[task->n_leads];

	copy->bdf = lead->bdf;
	copy->upstream = xcalloc(lead->n_upstream, sizeof(Bdf));
	copy->n_upstream = lead->n_upstream;
	for (size_t i = 0; i < lead->n_upstream; i++)
		copy->upstream[i] = lead->upstream[i];
	task->pointers[task->n_leads++] = copy;
}

static void look_if_older(Manager *m, uint64_t usec)
{
	_cleanup_free_ const PciFunction **leads = NULL;
	HealthTask *task;
	size_t n;

	if (!m->inventory || m->health_running ||
	    (m->health_usec > 0 && now_monotonic() - m->health_usec < usec))
		return;
	leads = list_leads(m, &n);
	task = xcalloc(1, sizeof(HealthTask));
	task->manager = m;
	task->leads = xcalloc(n + 1, sizeof(PciFunction));
	task->pointers = xcalloc(n + 1, sizeof(*task->pointers));
	for (size_t i = 0; i < n; i++)
		if (!in_hand(m, &leads[i]->bdf))
			add_lead(task, leads[i]);
	m->health_running = true;
	mailbox_run(m->place.mailbox, health_work, health_done, task);
}

void manager_look_at_health(Manager *m)
{
	look_if_older(m, HEALTH_INTERVAL_USEC);
}

void manager_asked(Manager *m)
{
	/* The daemon asks for the first look, when it is ready. */
	if (m->health_usec > 0)
		look_if_older(m, HEALTH_OLD_USEC);
}

#include "health.inc"
