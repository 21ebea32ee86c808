/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What becomes of a job that was open when the daemon ended: finished where the machine shows that
 * all of it was done, otherwise undone from the plan in its journal; where neither can be, its
 * group is quarantined. The machine decides, not the journal: that only says what was begun.
 */
#pragma once

#include "job/place.h"

typedef enum RecoveryOutcome {
	RECOVERED_DONE,	       /* it is as after the job */
	RECOVERED_UNDONE,      /* it is as before */
	RECOVERED_QUARANTINED, /* neither; on disk and in the claims */
	RECOVERED_WAITING,     /* libvirt does not answer, or went away; the job stays open */
} RecoveryOutcome;

typedef struct Recovery {
	RecoveryOutcome outcome;
	char *reason; /* of a quarantine, or for waiting; NULL otherwise */
	char **left;  /* what could not be put back, and is no reason for a quarantine */
} Recovery;

/* Keeps the functions and the domain of a job that was not recovered yet. */
int recover_claim(const JobPlace *place, const OpenJob *job, const char *reason);

/*
 * wait_usec: how long a worker of the daemon before may take to end by itself; it is not killed.
 * The claim of recover_claim() goes with everything but RECOVERED_WAITING. -errno: only when
 * memory is out; the job stays open.
 */
int recover_job(const JobPlace *place, OpenJob *job, uint64_t wait_usec, Recovery *ret);
void recovery_clear(Recovery *recovery);

/* The first function that a worker of any daemon is at work on, and its pid; 0: none. */
pid_t recover_find_worker(const JobPlace *place, const Bdf *functions, size_t n, const Bdf **ret);
