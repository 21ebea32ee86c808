/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/cancel.h"

#include <string.h>

#include "manager/records.h"
#include "manager/recover.h"
#include "manager/state.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

/* A job of an earlier daemon has no record here. */
static int refuse_unknown(const Manager *m, uint32_t id, Problem **ret_problem)
{
	if (manager_recovers_job(m, id))
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_TOO_LATE,
			.reason = strf("job %u was interrupted, and is being recovered", id),
			.cause = xstrdup("recovery goes by what is found on this host: it finishes "
					 "the job or undoes it"),
			.remedy = xstrdup("see what became of it: journalctl -u gpupassd"));
	return problem_refuse(ret_problem, GPUPASS_ERROR_NO_SUCH_JOB,
			      .reason = strf("there is no job %u", id),
			      .cause = xstrdup("gpupassd keeps the last 32 jobs since its start"),
			      .remedy = xstrdup("see them with: gpupass jobs"));
}

static int refuse_ended(const JobRecord *job, Problem **ret_problem)
{
	bool done = job->state == JOB_DONE && job->changed;

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_TOO_LATE,
		.reason = strf("job %u has ended already: %s", job->id,
			       job_state_to_string(job->state)),
		.remedy = done && job->operation == OPERATION_ASSIGN
				  ? strf("take the group back: gpupass release %s", job->group)
				  : strf("see what it did: gpupass jobs %u", job->id));
}

/* The thread takes no more cancels, and its end is on the way to the loop. */
static int refuse_closed(const JobRecord *job, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_TOO_LATE,
		.reason = job->rolling_back ? strf("job %u failed, and is undone already", job->id)
					    : strf("job %u is about to end", job->id),
		.state = xstrdup("the job goes on to its end"),
		.remedy = strf("see what becomes of it: gpupass jobs %u", job->id));
}

static void note_request(Manager *m, JobRecord *job, uint32_t uid)
{
	const LogFields fields = {
		.group = job->group,
		.domain = job->domain_name,
		.domain_uuid = job->domain_uuid,
		.job = job->id,
		.uid = uid,
	};

	job->cancel_requested = true;
	job->cancelled_by_uid = uid;
	log_line(LOG_NOTICE, &fields, "job %u: %s%s%s: user %u cancels it", job->id,
		 operation_to_string(job->operation), *job->group ? " " : "", job->group, uid);
	m->listener.job_changed(job, m->listener.userdata);
}

int manager_cancel_job(Manager *m, uint32_t id, uint32_t uid, Problem **ret_problem)
{
	JobRecord *job = records_find(m, id);
	int r;

	if (!job)
		return refuse_unknown(m, id, ret_problem);
	if (job->ended)
		return refuse_ended(job, ret_problem);
	r = cancellation_ask(job->cancel, uid);
	if (r < 0)
		return refuse_closed(job, ret_problem);
	if (r > 0)
		note_request(m, job, uid);
	return 0;
}
