/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which job has which functions and which domain in hand, so that two jobs never meet. Shared by
 * all job threads. A quarantine is a claim that no job holds any more.
 *
 * What ended lately is remembered, so that who looked at the same functions meanwhile looks again,
 * and nobody else.
 */
#pragma once

#include <stdint.h>

#include "core/facts/record.h"
#include "core/group/footprint.h"

typedef struct Claims Claims;

DECLARE_NEW(Claims, claims_new)
Claims *claims_free(Claims *claims);
DEFINE_CLEANUP(Claims, claims_free)

/*
 * Now, as claims_take() understands it. Read it before you look at the machine, so that it can tell
 * whether another job has changed meanwhile what you saw.
 */
uint64_t claims_now(Claims *claims);

typedef enum ClaimKind {
	CLAIM_JOB,
	CLAIM_PROBE,	   /* keeps jobs away, and never becomes a quarantine */
	CLAIM_DECLARATION, /* changes which GPUs are a group; has no number */
	CLAIM_QUARANTINE   /* is made below */
} ClaimKind;

typedef struct ClaimRequest {
	ClaimKind kind;
	uint32_t job;
	const char *group; /* of a job or a declaration */
	const Footprint *footprint;
	const char *domain_uuid; /* NULL: none */
	uint64_t looked;	 /* claims_now() before the look that this rests on */
	uint64_t ruled;		 /* a job's: before the rules were read that it goes by */
	/*
	 * A job's: it may take GPUs from the nvidia driver, or give them to it, where a probe may
	 * open them. So no probe begins beside it, one whose look it overlapped looks again, and
	 * one that runs has them, too, when the job ends.
	 */
	bool nvidia;
} ClaimRequest;

/*
 * -ESTALE: a job that had one of these functions, or this domain, has ended since `looked`, so look
 * again. PROBLEM (GroupBusy, Quarantined): another claim has one of them, or its group was declared
 * or forgotten since `ruled`.
 */
int claims_take(Claims *claims, const ClaimRequest *request, Problem **ret_problem);

/* The same checks of who has them now. It takes nothing. */
int claims_check(Claims *claims, const Bdf *functions, size_t n_functions, const char *domain_uuid,
		 Problem **ret_problem);
/* PROBLEM (Quarantined): a quarantine of this name is about other functions than these, or may be. */
int claims_check_name(Claims *claims, const char *group, const Bdf *functions, size_t n,
		      Problem **ret_problem);
/* PROBLEM (GroupBusy): a job or a declaration has the group of this name in hand. */
int claims_check_group(Claims *claims, const char *group, Problem **ret_problem);
/* true: a job that had this function has ended since then, or may have. */
bool claims_is_stale(Claims *claims, uint64_t since, const Bdf *function);

/* Releases all that the job holds, or the declaration of this group. false: a job held nothing. */
bool claims_release(Claims *claims, uint32_t job);
void claims_release_declaration(Claims *claims, const char *group);

/* Turns the claims of the job into a quarantine, and releases the domain. */
void claims_quarantine(Claims *claims, uint32_t job, const char *reason);

/*
 * Adds a quarantine that no job of this process made: one from disk, or of a job that waits for
 * recovery, which keeps its domain, too (NULL: none). Replaces a quarantine of the same group.
 */
void claims_add_quarantine(Claims *claims, const char *group, const Bdf *functions,
			   size_t n_functions, const char *domain_uuid, const char *reason);

/*
 * Adds a quarantine by a file of a quarantine or a job that cannot be used: of the functions that it
 * names, and of those of its group once a group of that name is found. Until then, if it names no
 * function, it quarantines all functions. Only claims_lift() ends it.
 */
void claims_add_fault(Claims *claims, const RecordFault *fault);
/* These groups were found: a file that names one is about its functions from now on. */
void claims_settle(Claims *claims, const GroupSet *groups);
/*
 * The quarantine that gpupass clear calls so, one by a file first. *ret_n 0: its functions are not
 * known; *ret_file NULL: it is by no file. -ENOENT: there is none.
 */
int claims_find_quarantine(Claims *claims, const char *name, char **ret_file, Bdf **ret,
			   size_t *ret_n);
/* Lifts the quarantine by this file, or that of the group of this name. Harmless if there is none. */
void claims_lift(Claims *claims, const char *of);
/* Such a file that names only some of these functions; NULL: there is none. */
char *claims_file_of(Claims *claims, const Bdf *functions, size_t n);
/* Adds a line for each such file, with its remedy. */
void claims_note_files(Claims *claims, char ***notes);
/* How many jobs have something in hand, and how many quarantines there are. */
void claims_count(Claims *claims, size_t *ret_jobs, size_t *ret_quarantines);
/* The names of all quarantines, as gpupass clear takes them: "pair0, journal/7.journal". */
char *claims_quarantine_names(Claims *claims);

/*
 * Why this function is quarantined; NULL: it is not. *ret_name (may be NULL): the quarantine's name
 * for gpupass clear, quoted for a shell. The caller frees both.
 */
char *claims_quarantine_reason(Claims *claims, const Bdf *function, char **ret_name);
/* true: a quarantine names this very function, and not just all functions. */
bool claims_quarantined_itself(Claims *claims, const Bdf *function);
