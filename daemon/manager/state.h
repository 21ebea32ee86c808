/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manager's own data. Only files of this room include it. */
#pragma once

#include "core/drift/drift.h"
#include "manager/types.h"

/* A caller that waits for a look that begins after its request. */
typedef struct Waiter Waiter;
struct Waiter {
	Waiter *next;
	ManagerDone done;
	void *userdata;
};

/* One kind of look. It never runs twice at a time: a request while it runs makes it run again. */
typedef struct Look {
	bool running;
	bool again;
	Waiter *current; /* waiting for the look under way */
	Waiter *next;	 /* waiting for the one after it */
	int (*start)(Manager *m);
} Look;

/* The last verdict of each guest. It is valid while that domain has those GPUs. */
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

/* What picture and looks call in the files above them. manager.c sets all of them. */
typedef struct ManagerHooks {
	void (*scanned)(Manager *m);	  /* a look at the machine has ended or failed */
	void (*domains_read)(Manager *m); /* the same for libvirt's domains */
	void (*drift_found)(Manager *m);  /* a search for drift has ended */
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
	Tenants *tenants;	  /* the marks, as last read; NULL: not read yet */
	bool noting_tenants;	  /* a thread writes marks */
	bool note_tenants_again;  /* another look ended meanwhile */
	uint64_t uses_generation; /* of the claims, before the look at domains */
	char *tenants_note;	  /* why a mark could not be written; NULL: nothing failed */
	char *scan_note;	  /* why the last scan failed; NULL: it did not */
	char *uses_note;	  /* why the domains could not be read; NULL: they were */
	DomainUses *uses;	  /* NULL: not known */
	bool connected;
	char **notes; /* of all kinds, for the bus */

	JobRecord **jobs; /* oldest first */
	size_t n_jobs;
	uint32_t last_job;
	Verdicts verdicts;

	OpenJob **open_jobs; /* left by the previous daemon, not recovered yet */
	size_t n_open_jobs;
	bool recovering;     /* a thread recovers them */
	bool health_running; /* a thread looks at the health of GPUs */

	GpuHealth *health; /* as last read */
	size_t n_health;
	uint64_t health_usec; /* CLOCK_MONOTONIC; 0: never */

	char **state_notes;

	BootFaults *boot; /* NULL: nothing failed at boot, as far as is known */
	Drift *drift;	  /* NULL: not looked for yet */
	char **foreign;	  /* groups in foreign use that are on record: "GROUP/UUID" */
	bool adopted;	  /* manager_adopt() has begun its jobs */
};

/*
 * What a job works with, as of now. Borrowed: a thread needs copies of what the loop may replace.
 */
JobPlace manager_job_place(Manager *m);
/* Takes both. */
void manager_set_rules(Manager *m, Rules *rules, char **notes);
