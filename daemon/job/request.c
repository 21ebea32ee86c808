/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/request.h"

#include <string.h>

static int copy(char **ret, const char *from)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

int job_request_copy(const JobRequest *from, JobRequest *ret)
{
	JobRequest request = *from;
	int r;

	request.domain = request.group = request.target = request.model = NULL;
	request.permitted_uuid = NULL;
	request.caller = caller_identity_ref(from->caller);
	r = copy(&request.domain, from->domain);
	if (r >= 0)
		r = copy(&request.group, from->group);
	if (r >= 0)
		r = copy(&request.target, from->target);
	if (r >= 0)
		r = copy(&request.model, from->model);
	if (r >= 0)
		r = copy(&request.permitted_uuid, from->permitted_uuid);
	if (r < 0) {
		job_request_clear(&request);
		return r;
	}
	*ret = request;
	return 0;
}

void job_request_clear(JobRequest *request)
{
	free(request->domain);
	free(request->group);
	free(request->target);
	free(request->model);
	free(request->permitted_uuid);
	caller_identity_unref(request->caller);
	*request = (JobRequest){ 0 };
}
