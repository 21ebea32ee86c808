/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/inspect.h"

#include <string.h>

#include "host/host/questions.h"
#include "job/drift-look.h"
#include "manager/look.h"
#include "manager/state.h"
#include "util/log.h"
#include "util/xalloc.h"

typedef struct Inspect {
	Host *host;
	Trail *trail;
	Bdf *functions;
	size_t n;
	Inspection *inspection;
	Problem *problem;
	ManagerInspected done;
	void *userdata;
} Inspect;

static void inspect_work(void *data)
{
	Inspect *task = data;

	int r = host_inspect(task->host, task->functions, task->n, INSPECT_CONFIG_AWAKE,
			     &task->inspection, &task->problem);

	if (r == 0)
		trail_note_holders(task->trail, task->inspection);
	else if (r < 0)
		problem_set(&task->problem, GPUPASS_ERROR_NO_SUCH_GPU, "it is not there any more");
}

static void inspect_done(void *data)
{
	Inspect *task = data;

	task->done(task->inspection, task->problem, task->userdata);
	problem_free(task->problem);
	inspection_free(task->inspection);
	free(task->functions);
	free(task);
}

int manager_inspect(Manager *m, const Bdf *functions, size_t n, ManagerInspected done,
		    void *userdata)
{
	_cleanup_free_ Inspect *task = xmalloc(sizeof(Inspect));
	_cleanup_free_ Bdf *copy = xcalloc(n + 1, sizeof(Bdf));
	int r;

	memcpy(copy, functions, n * sizeof(Bdf));
	*task = (Inspect){
		.host = m->place.host,
		.trail = m->place.trail,
		.functions = copy,
		.n = n,
		.done = done,
		.userdata = userdata,
	};
	r = mailbox_run(m->place.mailbox, inspect_work, inspect_done, task);
	if (r < 0)
		return r;
	TAKE_PTR(copy);
	TAKE_PTR(task);
	return 0;
}

/* ---- drift ---- */

typedef struct DriftTask {
	Manager *manager;
	JobPlace place;
	Identities *known;
	char *json;
	int result;
	ManagerDrift done;
	void *userdata;
} DriftTask;

static void drift_work(void *data)
{
	DriftTask *task = data;
	_cleanup_(drift_freep) Drift *drift = NULL;
	bool domains_known = false;

	task->result = drift_look(&task->place, task->manager->boot, &drift, &domains_known);
	if (task->result >= 0)
		task->json = drift_to_json(drift, domains_known);
}

static void drift_task_free(DriftTask *task)
{
	rules_unref(task->place.rules);
	identities_free(task->known);
	free(task->json);
	free(task);
}

static void shown(_unused_ void *userdata)
{
}

/* Renews the picture, too, so that it shows the same: libvirt does not send an event for every
 * edit. */
static void drift_done(void *data)
{
	DriftTask *task = data;

	task->done(task->json, task->result, task->userdata);
	if (manager_refresh(task->manager, shown, NULL) < 0)
		log_error("no thread could be started: the picture of this host may be old");
	drift_task_free(task);
}

int manager_get_drift(Manager *m, ManagerDrift done, void *userdata)
{
	DriftTask *task = xmalloc(sizeof(DriftTask));
	int r;

	*task = (DriftTask){
		.manager = m, .place = manager_job_place(m), .done = done, .userdata = userdata
	};
	task->place.rules = rules_ref(task->place.rules);
	identities_copy(task->place.known, &task->known);
	task->place.known = task->known;
	r = mailbox_run(m->place.mailbox, drift_work, drift_done, task);
	if (r < 0)
		drift_task_free(task);
	return r;
}
