/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/request.h"

#include "util/xalloc.h"

JobRequest job_request_copy(const JobRequest *from)
{
	JobRequest request = *from;

	request.caller = caller_identity_ref(from->caller);
	request.domain = xstrdup(from->domain);
	request.group = xstrdup(from->group);
	request.target = xstrdup(from->target);
	request.model = xstrdup(from->model);
	request.permitted_uuid = xstrdup(from->permitted_uuid);
	return request;
}

#include "request.inc"
