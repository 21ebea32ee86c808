/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/doctor.h"

#include <string.h>

#include "job/doctor-look.h"
#include "manager/health.h"
#include "manager/picture.h"
#include "manager/state.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct DoctorTask {
	Manager *manager;
	JobPlace place;
	Identities *known;
	char *domain;
	char **open_jobs, **settings;
	DoctorSymptom symptom;
	bool capture;
	char *report;
	GpuHealth *health;
	size_t n_health;
	Problem *problem;
	int result;
	ManagerReported done;
	void *userdata;
} DoctorTask;

static void doctor_task_clear(DoctorTask *task)
{
	rules_unref(task->place.rules);
	identities_free(task->known);
	free(task->domain);
	strv_free(task->open_jobs);
	strv_free(task->settings);
	free(task->report);
	gpu_healths_free(task->health, task->n_health);
	problem_free(task->problem);
}

DEFINE_LOCAL_FREE(DoctorTask, doctor_task_free, doctor_task_clear)

static void doctor_work(void *data)
{
	DoctorTask *task = data;
	const DoctorRequest request = {
		.domain = task->domain,
		.symptom = task->symptom,
		.open_jobs = task->open_jobs,
		.settings = task->settings,
		.capture = task->capture,
	};

	task->result = doctor_look(&task->place, &request, &task->report, &task->health,
				   &task->n_health, &task->problem);
}

static void doctor_done(void *data)
{
	_cleanup_(doctor_task_freep) DoctorTask *task = data;
	_cleanup_free_ char *message = NULL;
	GpupassError error = task->problem ? task->problem->error : GPUPASS_ERROR_INTERNAL;

	if (task->health) {
		manager_merge_health(task->manager, TAKE_PTR(task->health), task->n_health);
		task->n_health = 0;
		manager_observe(task->manager);
	}
	if (task->result == 0) {
		task->done(task->report, NULL, NULL, task->userdata);
		return;
	}
	message = task->problem ? problem_message(task->problem, "cannot look")
				: strf("cannot look: %s\nState:  nothing was changed\n"
				       "Remedy: see journalctl -u gpupassd",
				       strerror(-task->result));
	task->done(NULL, problem_dbus_name(error), message, task->userdata);
}

int manager_doctor(Manager *m, const ManagerDoctor *what, ManagerReported done, void *userdata)
{
	_cleanup_(doctor_task_freep) DoctorTask *task = xcalloc(1, sizeof(DoctorTask));
	int r;

	*task = (DoctorTask){
		.manager = m,
		.place = manager_job_place(m),
		.symptom = what->symptom,
		.capture = what->capture,
		.domain = xstrdup(what->domain),
		.done = done,
		.userdata = userdata,
	};
	task->place.rules = rules_ref(task->place.rules);
	/* A copy, because the loop may replace the original while the thread reads it. */
	identities_copy(task->place.known, &task->known);
	task->place.known = task->known;
	for (size_t i = 0; i < m->n_open_jobs; i++)
		strv_appendf(&task->open_jobs, "job %u (%s %s)", m->open_jobs[i]->id,
			     operation_to_string(m->open_jobs[i]->plan->operation),
			     m->open_jobs[i]->plan->group);
	strv_copy(m->config_notes, &task->settings);
	r = mailbox_run(m->place.mailbox, doctor_work, doctor_done, task);
	if (r >= 0)
		TAKE_PTR(task);
	return r;
}
