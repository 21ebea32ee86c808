/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which domain a call is about, found out before polkit is asked, so that its rules see a UUID and not
 * only what the caller wrote; what polkit permitted is then all that the job may run on.
 *
 * libvirt is asked on a thread, each time anew: the picture may lag behind a rename. A domain that is
 * not there is no error here. polkit is asked with the caller's own word for it, and who may not act
 * does not hear whether it exists; who may is told by the job.
 */
#pragma once

#include "bus/request.h"

typedef struct Subject {
	char *domain_name; /* NULL: there is no such domain, or nobody looked */
	char *domain_uuid; /* likewise */
	char *group;	   /* release: the group that the target names; NULL: none */
} Subject;
void subject_clear(Subject *subject);

/*
 * As authorize(), for a job: 1: may; request->permitted says on what, with strings of *subject. 0:
 * libvirt or polkit is asked; the handler returns 1, and is entered again with the same message. Nothing
 * is looked up, and nothing bound, for those whom polkit is not asked about.
 */
int authorize_job(Face *face, sd_bus_message *m, const char *action, JobRequest *request,
		  Subject *subject, sd_bus_error *error);

/* Forgets what was found for calls that did not come again. */
Lookup *lookups_free(Lookup *lookups);
