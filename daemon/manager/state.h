/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manager's own data, for its own sources: each has its members here, and nothing else is shared. */
#pragma once

#include "core/drift/drift.h"
#include "manager/types.h"

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

/* What is done above the picture and the looks when they change; manager.c names it. All must be set. */
typedef struct ManagerHooks {
	void (*scanned)(Manager *m);	  /* the machine was looked at, or could not be */
	void (*domains_read)(Manager *m); /* likewise libvirt's domains */
	void (*drift_found)(Manager *m);  /* the picture was compared with the assignments */
} ManagerHooks;

struct Manager {
	ManagerPlace place;
	ManagerListener listener;
	const ManagerHooks *hooks;
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

/* Where a job works, by what the manager knows now. Borrowed: a thread copies what the loop may replace. */
JobPlace manager_job_place(Manager *m);
/* Takes both. */
void manager_set_rules(Manager *m, Rules *rules, char **notes);
