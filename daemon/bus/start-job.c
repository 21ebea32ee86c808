/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/start-job.h"

#include "bus/subject.h"

int start_job(Face *f, sd_bus_message *m, const char *action, const JobRequest *request,
	      sd_bus_error *error)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(subject_clear) Subject subject = { 0 };
	_cleanup_free_ char *path = NULL;
	JobRequest permitted = *request;
	uint32_t id = 0;
	int r;

	r = authorize_job(f, m, action, &permitted, &subject, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	r = manager_start_job(f->manager, &permitted, &id, &problem);
	if (r == PROBLEM && problem->error == GPUPASS_ERROR_LIMITS_EXCEEDED)
		refusals_limited(&f->refusals, &(Decision){ .call = m,
							    .caller = *callers_current(f->callers),
							    .action = "jobs",
							    .group = request->group,
							    .domain = request->domain });
	if (r == PROBLEM)
		return set_problem(error, problem, NULL);
	if (r < 0)
		return r;
	path = job_path(id);
	return sd_bus_reply_method_return(m, "o", path);
}
