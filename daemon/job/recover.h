/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recovers a job that was open when the daemon ended. Finishes the job if the machine shows that
 * all of it was done; otherwise undoes it by the plan in its journal; if neither is possible,
 * quarantines its group. The machine decides and not the journal, which only says what was begun.
 */
#pragma once

#include "job/place.h"

typedef enum RecoveryOutcome {
	RECOVERED_DONE,	       /* the machine is as after the job */
	RECOVERED_UNDONE,      /* the machine is as before the job */
	RECOVERED_QUARANTINED, /* neither; the quarantine is on disk and in the claims */
	RECOVERED_WAITING,     /* libvirt does not answer, or went away: the job stays open */
} RecoveryOutcome;

typedef struct Recovery {
	RecoveryOutcome outcome;
	char *reason; /* why it is quarantined, or waits; NULL otherwise */
	char **left;  /* what could not be put back, and needs no quarantine */
} Recovery;

/* Claims the functions and the domain of a job that is not recovered yet. */
void recover_claim(const JobPlace *place, const OpenJob *job, const char *reason);

/*
 * wait_usec: how long a worker of the previous daemon may take to end by itself; we do not kill it.
 * Any outcome but RECOVERED_WAITING lifts the claim of recover_claim(). -errno: its journal could
 * not be closed; then the job stays open.
 */
int recover_job(const JobPlace *place, OpenJob *job, uint64_t wait_usec, Recovery *ret);
DECLARE_CLEAR(Recovery, recovery_clear)

/* The first function that a worker of any daemon works on; returns its pid. 0: there is none. */
pid_t recover_find_worker(const JobPlace *place, const Bdf *functions, size_t n, const Bdf **ret);
