/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the domain that a call is about before we ask polkit, so that polkit's rules see a UUID and
 * not only what the caller wrote. The job may then run on the permitted domain only.
 *
 * A thread asks libvirt each time, because the picture may lag behind a rename. A missing domain is
 * no error here. polkit then sees the caller's own word for it. So a caller who may not act does
 * not learn whether the domain exists; a caller who may learns it from the job.
 */
#pragma once

#include "bus/request.h"

typedef struct Subject {
	char *domain_name; /* NULL: there is no such domain, or we did not look */
	char *domain_uuid; /* likewise */
	char *group;	   /* release: the group that the target names; NULL: none */
} Subject;
void subject_clear(Subject *subject);

/*
 * authorize() for a job. 1: the caller may; request->permitted and permitted_uuid say on which
 * domain, with strings of *subject. 0: we are asking libvirt or polkit; the handler returns 1, and
 * is entered again with the same message. For callers that polkit is not asked about, nothing is
 * looked up and the domain is not fixed.
 */
int authorize_job(Face *face, sd_bus_message *m, const char *action, JobRequest *request,
		  Subject *subject, sd_bus_error *error);

/* Forgets the results for calls that have not come again. */
void lookups_forget(Face *face);
