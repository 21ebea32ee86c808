/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manager's own data. Only files of this room include it. */
#pragma once

#include "core/drift/drift.h"
#include "core/fence/report.h"
#include "core/metrics/metrics.h"
#include "host/scan/scan.h"
#include "manager/types.h"

/* A caller that waits for a look that begins after its request. */
typedef struct Waiter Waiter;
struct Waiter {
	Waiter *next;
	ManagerDone done;
	void *userdata;
};
/* Of the whole list. */
DECLARE_FREE(Waiter, waiters_free)

/* One kind of look. It never runs twice at a time: a request while it runs makes it run again. */
typedef struct Look {
	bool running;
	bool again;
	Waiter *current; /* waiting for the look under way */
	Waiter *next;	 /* waiting for the one after it */
	void (*start)(Manager *m);
} Look;

/* The last verdict of each guest. It is valid while that domain has those GPUs. */
typedef struct VerdictOf {
	char *domain_uuid;
	Bdf *gpus;
	size_t n_gpus;
	Verdict verdict;
	uint64_t asked_usec;
} VerdictOf;

/* What picture and looks call in the files above them. manager.c sets all of them. */
typedef struct ManagerHooks {
	void (*scanned)(Manager *m);	  /* a look at the machine has ended or failed */
	void (*domains_read)(Manager *m); /* the same for libvirt's domains */
	void (*drift_found)(Manager *m);  /* a search for drift has ended */
	void (*jobs_ended)(Manager *m);	  /* and the picture shows it */
	/* A caller waits for what the picture shows to hold: done is called then. */
	void (*refreshed)(Manager *m, ManagerDone done, void *userdata);
} ManagerHooks;

struct Manager {
	ManagerPlace place _borrowed_;
	ManagerListener listener _borrowed_;
	const ManagerHooks *hooks;
	Rules *rules;
	char **config_notes; /* of groups.d */

	Look scan;
	Bdf changed[SCAN_CHANGED_MAX]; /* what the next one reads, unless scan_whole */
	size_t n_changed;
	Look uses_look;
	Look fence_look;       /* no look: a write of the fence, which waits its turn like one */
	uint32_t *fence_ended; /* jobs that the next fence lets go of */
	size_t n_fence_ended;
	uint64_t fence_usec; /* CLOCK_REALTIME of the last that is on disk; 0: none */
	char *fence_note;    /* why it could not be written; NULL: it was */
	Inventory *inventory;
	Assignments *assignments;
	Tenants *tenants;	 /* the marks, as last read; NULL: not read yet */
	bool noting_tenants;	 /* a thread writes marks */
	bool note_tenants_again; /* another look ended meanwhile */
	bool following_kept;	 /* a thread writes what KeepBound= keeps */
	bool scan_whole;	 /* the next scan reads everything */
	bool uses_fresh;	 /* the next look at domains reads all of them */
	bool connected;		 /* to libvirt; without libvirt always */
	bool fence_old;		 /* a look has ended since the fence was made */
	uint64_t uses_looked;	 /* claims_now() before the look at domains */
	char *kept_note;	 /* why that could not be written; NULL: it was */
	char *tenants_note;	 /* why a mark could not be written; NULL: nothing failed */
	char *scan_note;	 /* why the last scan failed; NULL: it did not */
	char *uses_note;	 /* why the domains could not be read; NULL: they were */
	DomainUses *uses;	 /* NULL: not known */
	char **notes;		 /* of all kinds, for the bus */

	JobRecord **jobs; /* oldest first */
	size_t n_jobs;
	uint32_t last_job;
	bool tells_ends; /* a letter is on its way */
	bool preparing;	 /* likewise: groups that are unready are prepared */
	VerdictOf *verdicts;
	size_t n_verdicts;

	OpenJob **open_jobs; /* left by the previous daemon, not recovered yet */
	size_t n_open_jobs;
	bool recovering;     /* a thread recovers them */
	bool recover_again;  /* that was asked for meanwhile */
	uint32_t *recovered; /* their numbers, while it does */
	size_t n_recovered;
	bool health_running; /* a thread looks at the health of GPUs */

	GpuHealth *health; /* as last read */
	size_t n_health;
	uint64_t health_usec; /* CLOCK_MONOTONIC; 0: never */

	char **file_notes;  /* files of our state that cannot be used, or written */
	char **state_notes; /* of the start */

	BootFaults *boot;	    /* NULL: nothing failed at boot, as far as is known */
	Drift *drift;		    /* NULL: not looked for yet */
	FenceReport *foreign;	    /* likewise */
	bool adopted;		    /* adopt() has begun its jobs */
	uint64_t drift_usec;	    /* CLOCK_REALTIME of the last search for drift; 0: none */
	Metrics metrics _borrowed_; /* what was counted since the start; the loop's alone */
};

/*
 * What a job works with, as of now. Borrowed: a thread needs copies of what the loop may replace.
 */
JobPlace manager_job_place(Manager *m);

/*
 * What somebody asked for, while a thread works on it. The first member of what it needs besides.
 */
typedef struct Inquiry {
	Manager *manager;
	JobPlace place;	   /* the thread's own: */
	Identities *known; /* its place.known */
	char *prefix;	   /* "cannot look", of the answer */
	bool changes;	   /* a failure may have changed something */
	/* the outcome */
	char *text;
	Problem *problem;
	int result;
	ManagerAnswered done;
	void *userdata;
} Inquiry;

/* Takes the prefix. */
void inquiry_begin(Inquiry *inquiry, Manager *m, char *prefix, ManagerAnswered done,
		   void *userdata);
void inquiry_answer(Inquiry *inquiry);
DECLARE_CLEAR(Inquiry, inquiry_clear)
DECLARE_FREE(Inquiry, inquiry_free)

/*
 * Keeps why what `words` says could not be written, for the picture, and logs it, unless it failed
 * before, too. so: what follows from it, for the picture only. error 0: it was written.
 */
void manager_note_unwritten(Manager *m, char **note, const char *what, int error, const char *words,
			    const char *so);

/*
 * look.c: requests a look of this kind, and ends it. done (may be NULL) is called after one that
 * began after this request.
 */
void look_request(Manager *m, Look *look, ManagerDone done, void *userdata);
/* The same for who needs no look that begins only now: the last one that was asked for will do.
 * made: if none is under way, there was one. */
void look_await(Manager *m, Look *look, bool made, ManagerDone done, void *userdata);
void look_finished(Manager *m, Look *look);
/* Takes both. */
void manager_set_rules(Manager *m, Rules *rules, char **notes);
