/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/clear.h"

#include <string.h>

#include "job/clear.h"
#include "manager/look.h"
#include "manager/recover.h"
#include "manager/state.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct ClearTask {
	Manager *manager;
	JobPlace place;
	char *group;
	Problem *problem;
	int result;
	ManagerDeclared done;
	void *userdata;
} ClearTask;

static void clear_work(void *data)
{
	ClearTask *task = data;

	task->result = quarantine_lift(&task->place, task->group, &task->problem);
}

static void clear_reply(void *data)
{
	ClearTask *task = data;
	_cleanup_free_ char *prefix = strf("cannot clear %s", task->group), *message = NULL;
	GpupassError error = task->problem ? task->problem->error : GPUPASS_ERROR_INTERNAL;

	if (task->result == 0) {
		task->manager->metrics.quarantines_lifted++;
		log_line(LOG_INFO,
			 &(LogFields){ .message_id = LOG_ID_CLEARED, .group = task->group },
			 "the quarantine of %s was lifted", task->group);
		task->done(NULL, NULL, task->userdata);
	} else {
		message = task->problem ? problem_message(task->problem, prefix)
					: strf("%s: %s", prefix, strerror(-task->result));
		task->done(problem_dbus_name(error), message, task->userdata);
	}
	rules_unref(task->place.rules);
	problem_free(task->problem);
	free(task->group);
	free(task);
}

/* The answer comes after the picture, so that a caller who then asks sees the new state. */
static void clear_done(void *data)
{
	ClearTask *task = data;

	if (manager_refresh(task->manager, clear_reply, task) < 0)
		clear_reply(task);
}

int manager_clear(Manager *m, const char *group, ManagerDeclared done, void *userdata,
		  Problem **ret_problem)
{
	ClearTask *task;
	int r;

	if (manager_is_recovering(m, group))
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason = xstrdup("an interrupted job is being recovered"),
			.remedy = xstrdup(
				"wait, or look why libvirt does not answer: gpupass status"));
	task = xmalloc(sizeof(ClearTask));
	*task = (ClearTask){
		.manager = m,
		.place = manager_job_place(m),
		.group = xstrdup(group),
		.done = done,
		.userdata = userdata,
	};
	task->place.known = NULL;
	task->place.rules = rules_ref(task->place.rules);
	r = mailbox_run(m->place.mailbox, clear_work, clear_done, task);
	if (r >= 0)
		return 0;
	rules_unref(task->place.rules);
	free(task->group);
	free(task);
	return r;
}
