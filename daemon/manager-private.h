/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the manager's own sources share: the picture (manager.c), jobs (manager-jobs.c) and
 * declarations (manager-declare.c). */
#pragma once

#include "manager.h"

/* Jobs at a time; a host has a few groups. */
#define JOBS_RUNNING_MAX 64
/* Of them, of one user who is not root: polkit may let many act, and none shall stop the others. */
#define JOBS_RUNNING_USER_MAX 16
/* Ended jobs that stay readable. */
#define JOBS_HISTORY_MAX 32

/* Somebody who waits for a picture that is begun after the question. */
typedef struct Waiter Waiter;
struct Waiter {
	Waiter *next;
	ManagerDone done;
	void *userdata;
};

/* One kind of looking, never twice at a time: asked for while it runs, it is run again. */
typedef struct Look {
	bool running;
	bool again;
	Waiter *current; /* waiting for the look under way */
	Waiter *next;	 /* waiting for the one after it */
	int (*start)(Manager *m);
} Look;

struct Manager {
	ManagerPlace place;
	ManagerListener listener;
	Claims *claims;
	DiskWatch *disk;
	Rules *rules;
	char **config_notes; /* of groups.d */

	Look scan;
	Look uses_look;
	Inventory *inventory;
	Assignments *assignments;
	char **store_notes;
	char *scan_note;  /* why the last scan failed; NULL: it did not */
	char *uses_note;  /* why the domains could not be read; NULL: they were */
	DomainUses *uses; /* NULL: not known */
	bool connected;
	char **notes; /* all of them */

	JobRecord **jobs; /* oldest first */
	size_t n_jobs;
	uint32_t last_job;

	OpenJob **open_jobs; /* left by the daemon before, not recovered yet */
	size_t n_open_jobs;
	bool recovering; /* a thread has them */
	char **state_notes;
};

/* Derives states from the facts at hand and tells the listener. */
void manager_observe(Manager *m);
JobPlace manager_job_place(Manager *m);
void manager_set_rules(Manager *m, Rules *rules, char **notes); /* takes both */
void job_record_free(JobRecord *job);
