/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the manager's own sources share: the picture (manager.c), jobs (jobs.c) and
 * declarations (declare.c). */
#pragma once

#include "core/drift/drift.h"
#include "manager/manager.h"

/* Jobs at a time, of all users, and as many of root: no user leaves root without. */
#define JOBS_RUNNING_MAX 64
/* Of them, of one user who is not root: polkit may let many act, and none shall stop the others. */
#define JOBS_RUNNING_USER_MAX 16
/* Ended jobs that stay readable, of all users, and as many of root. */
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

/* The last verdict of a guest. It holds while that domain has those GPUs. */
typedef struct Verdicts {
	struct VerdictOf {
		char *domain_uuid;
		Bdf *gpus;
		size_t n_gpus;
		Verdict verdict;
		uint64_t asked_usec;
	} * items;
	size_t n_items;
} Verdicts;

struct Manager {
	ManagerPlace place;
	ManagerListener listener;
	Claims *claims;
	DiskWatch *disk;
	HealthLook *health_look;
	Rules *rules;
	char **config_notes; /* of groups.d */

	Look scan;
	Look uses_look;
	Inventory *inventory;
	Assignments *assignments;
	char **store_notes;
	Tenants *tenants;	  /* marks as they were last read; NULL: not yet */
	bool noting_tenants;	  /* a thread writes marks */
	bool note_tenants_again;  /* there was a look meanwhile */
	uint64_t uses_generation; /* of the claims, when the look at domains began */
	char *tenants_note;	  /* why a mark could not be written; NULL: nothing failed */
	char *scan_note;	  /* why the last scan failed; NULL: it did not */
	char *uses_note;	  /* why the domains could not be read; NULL: they were */
	DomainUses *uses;	  /* NULL: not known */
	bool connected;
	char **notes; /* all of them */

	JobRecord **jobs; /* oldest first */
	size_t n_jobs;
	uint32_t last_job;
	Verdicts verdicts;

	OpenJob **open_jobs; /* left by the daemon before, not recovered yet */
	size_t n_open_jobs;
	bool recovering;     /* a thread has them */
	bool health_running; /* a thread looks at the health of GPUs */

	GpuHealth *health; /* of GPUs, as last read */
	size_t n_health;
	uint64_t health_usec; /* CLOCK_MONOTONIC; 0: never */

	char **state_notes;

	BootFaults *boot; /* NULL: nothing failed at boot, as far as is known */
	Drift *drift;	  /* NULL: not looked for yet */
	bool adopted;	  /* what a daemon at its start adopts was begun */
};

/* Derives states from the facts at hand and tells the listener. */
void manager_observe(Manager *m);
/* The looks at sysfs and at libvirt's domains: look.c. */
void manager_init_looks(Manager *m);
void manager_clear_looks(Manager *m);
/* Writes what the picture shows of who has a board, where its mark does not say so: tenants.c. */
void manager_note_tenants(Manager *m);
/* Finds drift in the picture and logs what came and what went. */
void manager_observe_drift(Manager *m);
/* What gpupass-bind said of a function that is still not bound; NULL: nothing. Caller frees. */
char *manager_boot_reason(const Manager *m, const Group *group);
/* A job of this daemon that libvirt's end left open: recovered when libvirt answers. Takes it. */
void manager_take_open_job(Manager *m, OpenJob *job);
JobPlace manager_job_place(Manager *m);
void manager_set_rules(Manager *m, Rules *rules, char **notes); /* takes both */
void job_record_free(JobRecord *job);
/* Takes what the end of a verification tells. */
void manager_note_verdict(Manager *m, JobEvent *ended);
void verdicts_clear(Verdicts *verdicts);
