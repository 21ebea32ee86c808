/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "gpupass/dbus.h"
#include "manager/audit.h"
#include "manager/inspect.h"
#include "manager/picture.h"
#include "manager/records.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct ReadTask {
	int dir_fd;
	AuditQuery query;
	char *group, *domain;
	char *json;
	int result;
	ManagerAudit done;
	void *userdata;
} ReadTask;

static void read_work(void *data)
{
	ReadTask *task = data;

	task->result = trail_files_page(task->dir_fd, &task->query, &task->json);
}

static void read_task_free(ReadTask *task)
{
	free(task->group);
	free(task->domain);
	free(task->json);
	free(task);
}

static void read_done(void *data)
{
	ReadTask *task = data;

	task->done(task->json, task->result, task->userdata);
	read_task_free(task);
}

int manager_get_audit(Manager *m, const AuditQuery *query, ManagerAudit done, void *userdata)
{
	ReadTask *task;
	int r;

	if (!m->place.trail)
		return -ENOENT;
	task = xmalloc(sizeof(ReadTask));
	*task = (ReadTask){
		.dir_fd = trail_dir_fd(m->place.trail),
		.query = *query,
		.group = xstrdup(query->group),
		.domain = xstrdup(query->domain),
		.done = done,
		.userdata = userdata,
	};
	task->query.group = task->group;
	task->query.domain = task->domain;
	r = mailbox_run(m->place.mailbox, read_work, read_done, task);
	if (r < 0)
		read_task_free(task);
	return r;
}

/* ---- who holds now ---- */

typedef struct HoldersTask {
	ManagerHolders done;
	void *userdata;
} HoldersTask;

static json_t *holder_to_json(const Holder *holder)
{
	_cleanup_free_ char *command = audit_text(holder->command);
	_cleanup_free_ char *unit = audit_text(holder->unit);
	_cleanup_free_ char *container = audit_text(holder->container);
	_cleanup_free_ char *path = audit_text(holder->path);

	return json_build("{s:s, s:s?, s:i, s:s?, s:s?, s:s?, s:b}", "function",
			  BDF_TEXT(&holder->bdf), "path", path, "pid", (int)holder->pid, "command",
			  command, "unit", unit, "container", container, "vfio", (int)holder->vfio);
}

static char *holders_text(const Inspection *inspection)
{
	_cleanup_json_ json_t *holders = json_array(), *o = NULL;
	_cleanup_strv_ char **unseen = NULL;

	inspection_tell_unseen(inspection, &unseen);
	for (size_t i = 0; i < inspection->n_holders; i++)
		json_append(holders, holder_to_json(&inspection->holders[i]));
	o = json_build("{s:s, s:I, s:O, s:o}", "schema", GPUPASS_SCHEMA_HOLDERS, "time_usec",
		       (json_int_t)now_realtime(), "holders", holders, "unseen", json_strv(unseen));
	return json_dumps(o, JSON_COMPACT);
}

static void holders_found(const Inspection *inspection, const Problem *problem, void *userdata)
{
	HoldersTask *task = userdata;
	_cleanup_free_ char *text = inspection ? holders_text(inspection) : NULL;

	task->done(text, problem, task->userdata);
	free(task);
}

static bool in_hand(const Manager *m, const Gpu *gpu)
{
	const Group *group = group_set_find_gpu(m->inventory->groups, &gpu->lead->bdf);

	return group && (group->state == GROUP_QUARANTINED || manager_group_job(m, group) != 0);
}

static size_t add_all(const Manager *m, bool all, Bdf *functions)
{
	size_t n = 0;

	for (size_t i = 0; i < m->inventory->gpus->n_gpus; i++) {
		const Gpu *gpu = &m->inventory->gpus->gpus[i];

		if (!all && in_hand(m, gpu))
			continue;
		for (size_t k = 0; k < gpu->n_functions; k++)
			functions[n++] = gpu->functions[k]->bdf;
	}
	return n;
}

int manager_get_holders(Manager *m, bool all, ManagerHolders done, void *userdata)
{
	_cleanup_free_ Bdf *functions = NULL;
	HoldersTask *task;
	size_t room = 1;
	int r;

	if (!m->inventory)
		return -EAGAIN;
	for (size_t i = 0; i < m->inventory->gpus->n_gpus; i++)
		room += m->inventory->gpus->gpus[i].n_functions;
	functions = xcalloc(room, sizeof(Bdf));
	task = xmalloc(sizeof(HoldersTask));
	*task = (HoldersTask){ .done = done, .userdata = userdata };
	r = manager_inspect(m, functions, add_all(m, all, functions), holders_found, task);
	if (r < 0)
		free(task);
	return r;
}
