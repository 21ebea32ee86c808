/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cancelling a job. Root may; and where root did not start the job, whoever polkit permits what the
 * job does, on its own domain and group. polkit's rules can tell a cancel by its job.
 *
 * What a job is about becomes known while it plans, and polkit may take minutes. So a yes counts
 * only for what was asked: when the job says something else by then, we ask again. That ends, since
 * a job says so once.
 */
#include "bus/methods-cancel.h"

#include "gpupass/dbus.h"

static const char *action_of(const JobRecord *job)
{
	static const char *const actions[] = {
		[OPERATION_ASSIGN] = GPUPASS_ACTION_ASSIGN,
		[OPERATION_RELEASE] = GPUPASS_ACTION_RELEASE,
		[OPERATION_BIND] = GPUPASS_ACTION_BIND,
		[OPERATION_UNBIND] = GPUPASS_ACTION_BIND,
		[OPERATION_RECONCILE] = GPUPASS_ACTION_MANAGE,
		[OPERATION_VERIFY] = GPUPASS_ACTION_PROBE,
		[OPERATION_PROBE] = GPUPASS_ACTION_PROBE,
	};
	_Static_assert(ELEMENTS(actions) == OPERATION_MAX_, "every operation has its action");

	/* Of a job that there is not, only who may read learns so. */
	return job ? actions[job->operation] : GPUPASS_ACTION_READ;
}

/* 1: the caller may. 0: polkit is asked, and the handler is entered again. */
static int may_cancel(Face *f, sd_bus_message *m, uint32_t id, sd_bus_error *error)
{
	const JobRecord *job = manager_job(f->manager, id);
	PolkitQuestion question = { .action = action_of(job), .job = id };

	if (job) {
		question.domain = named(job->domain_name);
		question.domain_uuid = named(job->domain_uuid);
		question.group = named(job->group);
	}
	polkit_forget_other(f->polkit, m, &question);
	if (job && caller_is_privileged(job->caller_uid)) {
		PolkitQuestion of_root = question;
		int r;

		of_root.action = "cancel a job of root";
		r = polkit_require_root(f->polkit, m, &of_root, error);
		if (r < 0)
			return r;
	}
	return polkit_authorize(f->polkit, m, &question, error);
}

int method_cancel(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *path = NULL;
	const Caller *caller;
	Face *f = userdata;
	uint32_t id;
	int r;

	r = sd_bus_message_read(m, "u", &id);
	if (r >= 0)
		r = options_read(m, NULL, 0, NULL, error);
	if (r < 0)
		return r;
	if (id == 0)
		return invalid_argument(error, "no job has the number 0",
					"give a number that gpupass jobs shows");
	r = may_cancel(f, m, id, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	caller = callers_current(f->callers);
	r = manager_cancel_job(f->manager, id, caller->uid, &problem);
	if (r == PROBLEM) {
		decision_record_result(manager_trail(f->manager), m, caller, id,
				       problem_dbus_name(problem->error), problem->reason);
		return set_problem(error, problem, "cannot cancel it");
	}
	if (r < 0)
		return r;
	path = job_path(id);
	return sd_bus_reply_method_return(m, "o", path);
}
