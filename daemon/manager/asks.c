/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/asks.h"

#include "gpupass/dbus.h"
#include "job/clear.h"
#include "job/drift-look.h"
#include "manager/health.h"
#include "manager/look.h"
#include "manager/picture.h"
#include "manager/recover.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/log.h"
#include "util/xalloc.h"

/* ---- lifting a quarantine ---- */

typedef struct ClearTask {
	Inquiry inquiry;
	char *group;
} ClearTask;
LOCAL_FREE(ClearTask, clear_task_free)

static void clear_work(void *data)
{
	ClearTask *task = data;

	task->inquiry.result =
		quarantine_lift(&task->inquiry.place, task->group, &task->inquiry.problem);
}

static void clear_reply(void *data)
{
	_cleanup_(clear_task_freep) ClearTask *task = data;

	if (task->inquiry.result == 0) {
		task->inquiry.manager->metrics.quarantines_lifted++;
		log_line(LOG_INFO,
			 &(LogFields){ .message_id = LOG_ID_CLEARED, .group = task->group },
			 "the quarantine of %s was lifted", task->group);
	}
	inquiry_answer(&task->inquiry);
}

/* The answer comes after the picture, so that a caller who then asks sees the new state. */
static void clear_done(void *data)
{
	ClearTask *task = data;

	manager_refresh(task->inquiry.manager, clear_reply, task);
}

int manager_clear(Manager *m, const char *group, ManagerAnswered done, void *userdata,
		  Problem **ret_problem)
{
	_cleanup_(clear_task_freep) ClearTask *task = NULL;

	if (manager_is_recovering(m, group))
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason = xstrdup("an interrupted job is being recovered"),
			.remedy = xstrdup(
				"wait, or look why libvirt does not answer: gpupass status"));
	task = xcalloc(1, sizeof(ClearTask));
	inquiry_begin(&task->inquiry, m, strf("cannot clear %s", group), done, userdata);
	task->inquiry.changes = true;
	task->group = xstrdup(group);
	mailbox_run(m->place.mailbox, clear_work, clear_done, TAKE_PTR(task));
	return 0;
}

/* ---- doctor ---- */

typedef struct DoctorTask {
	Inquiry inquiry;
	DoctorRequest request;
	GpuHealth *health;
	size_t n_health;
} DoctorTask;
LOCAL_FREE(DoctorTask, doctor_task_free)

static void doctor_work(void *data)
{
	DoctorTask *task = data;

	task->inquiry.result =
		doctor_look(&task->inquiry.place, &task->request, &task->inquiry.text,
			    &task->health, &task->n_health, &task->inquiry.problem);
}

static void doctor_done(void *data)
{
	_cleanup_(doctor_task_freep) DoctorTask *task = data;
	Manager *m = task->inquiry.manager;

	if (task->health) {
		manager_merge_health(m, TAKE_PTR(task->health), task->n_health);
		task->n_health = 0;
		manager_observe(m);
	}
	inquiry_answer(&task->inquiry);
}

void manager_doctor(Manager *m, DoctorRequest *request, ManagerAnswered done, void *userdata)
{
	_cleanup_(doctor_task_freep) DoctorTask *task = xcalloc(1, sizeof(DoctorTask));

	inquiry_begin(&task->inquiry, m, xstrdup("cannot look"), done, userdata);
	task->request = *request;
	for (size_t i = 0; i < m->n_open_jobs; i++)
		strv_appendf(&task->request.open_jobs, "job %u (%s %s)", m->open_jobs[i]->id,
			     operation_to_string(m->open_jobs[i]->plan->operation),
			     m->open_jobs[i]->plan->group);
	strv_copy(m->config_notes, &task->request.settings);
	mailbox_run(m->place.mailbox, doctor_work, doctor_done, TAKE_PTR(task));
}

/* ---- drift ---- */

static void drift_work(void *data)
{
	Inquiry *inquiry = data;
	_cleanup_(drift_freep) Drift *drift = NULL;

	inquiry->result = drift_look(&inquiry->place, inquiry->manager->boot, &drift);
	if (inquiry->result >= 0)
		inquiry->text = drift_to_json(drift);
}

static void shown(_unused_ void *userdata)
{
}

/* Renews the picture, too, so that it shows the same: libvirt does not send an event for every
 * edit. */
static void drift_done(void *data)
{
	_cleanup_(inquiry_freep) Inquiry *inquiry = data;

	inquiry_answer(inquiry);
	manager_refresh(inquiry->manager, shown, NULL);
}

void manager_get_drift(Manager *m, ManagerAnswered done, void *userdata)
{
	_cleanup_(inquiry_freep) Inquiry *inquiry = xcalloc(1, sizeof(Inquiry));

	inquiry_begin(inquiry, m, xstrdup("cannot look for drift"), done, userdata);
	mailbox_run(m->place.mailbox, drift_work, drift_done, TAKE_PTR(inquiry));
}

/* ---- the audit trail ---- */

typedef struct AuditTask {
	Inquiry inquiry;
	AuditQuery query _borrowed_;
	char *group, *domain;
} AuditTask;
LOCAL_FREE(AuditTask, audit_task_free)

static void audit_work(void *data)
{
	AuditTask *task = data;

	task->inquiry.result = trail_files_page(trail_dir_fd(task->inquiry.place.trail),
						&task->query, &task->inquiry.text);
}

static void audit_done(void *data)
{
	_cleanup_(audit_task_freep) AuditTask *task = data;

	inquiry_answer(&task->inquiry);
}

int manager_get_audit(Manager *m, const AuditQuery *query, ManagerAnswered done, void *userdata)
{
	_cleanup_(audit_task_freep) AuditTask *task = NULL;

	if (!m->place.job.trail)
		return -ENOENT;
	task = xcalloc(1, sizeof(AuditTask));
	inquiry_begin(&task->inquiry, m, xstrdup("it could not be read"), done, userdata);
	task->query = *query;
	task->query.group = task->group = xstrdup(query->group);
	task->query.domain = task->domain = xstrdup(query->domain);
	mailbox_run(m->place.mailbox, audit_work, audit_done, TAKE_PTR(task));
	return 0;
}

/* ---- a close look ---- */

typedef struct InspectTask {
	Inquiry inquiry;
	Bdf *functions;
	size_t n;
	Inspection *inspection;
	ManagerInspected inspected _borrowed_;
} InspectTask;
LOCAL_FREE(InspectTask, inspect_task_free)

static void inspect_work(void *data)
{
	InspectTask *task = data;
	const JobPlace *place = &task->inquiry.place;
	int r = host_inspect(place->host, task->functions, task->n, INSPECT_CONFIG_AWAKE,
			     &task->inspection, &task->inquiry.problem);

	if (r == 0)
		trail_note_holders(place->trail, task->inspection);
	else if (r < 0)
		problem_set(&task->inquiry.problem, GPUPASS_ERROR_NO_SUCH_GPU,
			    "it is not there any more");
}

static void inspect_done(void *data)
{
	_cleanup_(inspect_task_freep) InspectTask *task = data;

	task->inspected(task->inspection, task->inquiry.problem, task->inquiry.userdata);
}

void manager_inspect(Manager *m, const Bdf *functions, size_t n, ManagerInspected done,
		     void *userdata)
{
	_cleanup_(inspect_task_freep) InspectTask *task = xcalloc(1, sizeof(InspectTask));

	inquiry_begin(&task->inquiry, m, NULL, NULL, userdata);
	task->functions = xcalloc(n + 1, sizeof(Bdf));
	memcpy(task->functions, functions, n * sizeof(Bdf));
	task->n = n;
	task->inspected = done;
	mailbox_run(m->place.mailbox, inspect_work, inspect_done, TAKE_PTR(task));
}

/* ---- who holds now ---- */

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
	_cleanup_json_ json_t *o = NULL;
	_cleanup_strv_ char **unseen = NULL;

	inspection_tell_unseen(inspection, &unseen);
	o = json_build("{s:s, s:I, s:o, s:o}", "schema", GPUPASS_SCHEMA_HOLDERS, "time_usec",
		       (json_int_t)now_realtime(), "holders",
		       JSON_ARRAY(inspection->holders, inspection->n_holders, holder_to_json(it)),
		       "unseen", json_strv(unseen));
	return json_dumps(o, JSON_COMPACT);
}

static void holders_done(void *data)
{
	_cleanup_(inspect_task_freep) InspectTask *task = data;

	if (task->inspection)
		task->inquiry.text = holders_text(task->inspection);
	inquiry_answer(&task->inquiry);
}

int manager_get_holders(Manager *m, bool all, ManagerAnswered done, void *userdata)
{
	_cleanup_(inspect_task_freep) InspectTask *task = NULL;

	if (!m->inventory)
		return -EAGAIN;
	task = xcalloc(1, sizeof(InspectTask));
	inquiry_begin(&task->inquiry, m, xstrdup("cannot look for who holds GPUs"), done, userdata);
	task->functions = xcalloc(m->inventory->snapshot->n_functions + 1, sizeof(Bdf));
	EACH (const Gpu, gpu, m->inventory->gpus->gpus, m->inventory->gpus->n_gpus) {
		if (!all && manager_group_in_hand(m, &gpu->lead->bdf))
			continue;
		for (size_t k = 0; k < gpu->n_functions; k++)
			task->functions[task->n++] = gpu->functions[k]->bdf;
	}
	mailbox_run(m->place.mailbox, inspect_work, holders_done, TAKE_PTR(task));
	return 0;
}

/* ---- the domain that a word means ---- */

typedef struct FindTask {
	Host *host _borrowed_;
	char *word;
	DomainId id;
	ManagerFound done _borrowed_;
	void *userdata _borrowed_;
} FindTask;
LOCAL_FREE(FindTask, find_task_free)

static void find_work(void *data)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	FindTask *task = data;

	/* The problem is not needed: the job meets it again, and reports it. */
	(void)task->host->ops->domain_find(task->host, task->word, &task->id, &problem);
}

static void find_done(void *data)
{
	_cleanup_(find_task_freep) FindTask *task = data;

	task->done(*task->id.uuid ? &task->id : NULL, task->userdata);
}

void manager_find_domain(Manager *m, const char *word, ManagerFound done, void *userdata)
{
	_cleanup_(find_task_freep) FindTask *task = xcalloc(1, sizeof(FindTask));

	*task = (FindTask){
		.host = m->place.job.host,
		.word = xstrdup(word),
		.done = done,
		.userdata = userdata,
	};
	mailbox_run(m->place.mailbox, find_work, find_done, TAKE_PTR(task));
}

/* ---- metrics: nothing waits for a thread ---- */

/* More groups than any host has: records can name ones that are gone. */
#define GROUPS_MAX 256

/* Adds one finding about the group to an object of groups. */
static void add_finding(json_t *groups, const char *group)
{
	const json_t *before = json_object_get(groups, str_or_empty(group));

	if (!before && json_object_size(groups) >= GROUPS_MAX)
		return;
	json_set(groups, str_or_empty(group), json_integer(json_integer_value(before) + 1));
}

static void add_findings(const Manager *m, json_t *drift, json_t *foreign)
{
	EACH_IN (const DriftFinding, found, m->drift, items)
		add_finding(drift, found->group);
	EACH_IN (const FenceFinding, found, m->foreign, items)
		add_finding(foreign, found->group);
}

static json_t *trail_to_json(Trail *trail)
{
	bool writable;
	uint64_t lost;

	if (!trail)
		return json_null();
	trail_health(trail, &writable, &lost);
	return json_build("{s:b, s:I}", "writable", (int)writable, "lost", (json_int_t)lost);
}

char *manager_metrics(const Manager *m, uint64_t denied, uint64_t limited)
{
	_cleanup_json_ json_t *o = NULL, *counted = metrics_to_json(&m->metrics);
	json_t *drift = json_object(), *foreign = json_object();
	size_t jobs, quarantines;

	add_findings(m, drift, foreign);
	claims_count(m->place.job.claims, &jobs, &quarantines);
	o = json_build("{s:s, s:I, s:I, s:{s:I, s:I}, s:I, s:o, s:o, s:o}", "schema",
		       GPUPASS_SCHEMA_METRICS, "claims", (json_int_t)jobs, "quarantines",
		       (json_int_t)quarantines, "refused_calls", "denied", (json_int_t)denied,
		       "limited", (json_int_t)limited, "drift_searched_usec",
		       (json_int_t)m->drift_usec, "drift", drift, "foreign", foreign, "audit",
		       trail_to_json(m->place.job.trail));
	json_made(json_object_update(o, counted) < 0 ? NULL : o);
	return json_dumps(o, JSON_COMPACT);
}

#include "asks.inc"
