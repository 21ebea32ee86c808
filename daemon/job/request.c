/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/request.h"

#include "util/xalloc.h"

#include <string.h>

static void copy(char **ret, const char *from)
{
	*ret = from ? xstrdup(from) : NULL;
}

void job_request_copy(const JobRequest *from, JobRequest *ret)
{
	JobRequest request = *from;

	request.domain = request.group = request.target = request.model = NULL;
	request.permitted_uuid = NULL;
	request.caller = caller_identity_ref(from->caller);
	copy(&request.domain, from->domain);
	copy(&request.group, from->group);
	copy(&request.target, from->target);
	copy(&request.model, from->model);
	copy(&request.permitted_uuid, from->permitted_uuid);
	*ret = request;
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
