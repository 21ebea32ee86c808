/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which job has which functions and which domain in hand, so that two jobs never meet. Shared by
 * all job threads. A quarantine is a claim that no job holds any more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/bdf.h"
#include "core/base/problem.h"

typedef struct Claims Claims;

int claims_new(Claims **ret);
Claims *claims_free(Claims *claims);
DEFINE_CLEANUP(Claims, claims_free)

/*
 * Goes up whenever a job lets go. Read it before looking at the machine and hand it to
 * claims_take(): what was seen is then known to be no other job's work in between.
 */
uint64_t claims_generation(Claims *claims);

/*
 * Takes the functions and the domain (NULL: none) for this job of a group, or for a probe (NULL), which
 * is only to keep other jobs away and must never become a quarantine. -ESTALE when a job let go since
 * `generation`: look again. PROBLEM (GroupBusy, Quarantined) when somebody has one of them.
 */
int claims_take(Claims *claims, uint64_t generation, uint32_t job, const char *group,
		const Bdf *functions, size_t n_functions, const char *domain_uuid,
		Problem **ret_problem);

/* The same refusals for a dry run, which takes nothing. */
int claims_check(Claims *claims, const Bdf *functions, size_t n_functions, const char *domain_uuid,
		 Problem **ret_problem);

/* Ends what the job holds. */
void claims_release(Claims *claims, uint32_t job);

/* Turns what the job holds into a quarantine; the domain is let go. */
void claims_quarantine(Claims *claims, uint32_t job, const char *reason);

/*
 * A quarantine that no job of this process made: one from disk, or of a job that waits to be
 * recovered (its domain, or NULL, is kept as well). Takes the place of one of the same group.
 */
int claims_add_quarantine(Claims *claims, const char *group, const Bdf *functions,
			  size_t n_functions, const char *domain_uuid, const char *reason);

/*
 * A file that says what is kept apart, and that cannot be read as it should. It is a quarantine of the
 * functions that it names, of its group's as soon as there is one of that name, and until then, where
 * no function is known, of every function there is. Only claims_lift_unread() lets it go.
 */
typedef struct UnreadClaim {
	const char *file;  /* "quarantine/pair0.json": of the state directory */
	const char *name;  /* what gpupass clear calls it; printable */
	const char *group; /* NULL: not known */
	const Bdf *functions;
	size_t n_functions; /* 0: not known */
	const char *domain_uuid;
	const char *why; /* "quarantine/pair0.json cannot be understood (…)" */
} UnreadClaim;
int claims_add_unread(Claims *claims, const UnreadClaim *unread);
/* A group that there is now: an unread file that names it is about these functions from now on. */
int claims_settle_unread(Claims *claims, const char *group, const Bdf *functions, size_t n);
/* -ENOENT: there is none of that name. ret_n 0: its functions are not known. */
int claims_find_unread(Claims *claims, const char *name, char **ret_file, Bdf **ret, size_t *ret_n);
void claims_lift_unread(Claims *claims, const char *file);
/* A line for each, with its remedy. */
int claims_note_unread(Claims *claims, char ***notes);
/* The names by which clear knows what is quarantined: "pair0, journal/7.journal". */
char *claims_quarantine_names(Claims *claims);

/* Lets the group's quarantine go; harmless where there is none. */
void claims_lift(Claims *claims, const char *group);

/* The functions of the group's quarantine. -ENOENT: it has none. */
int claims_quarantined(Claims *claims, const char *group, Bdf **ret, size_t *ret_n);

/*
 * Why this function is quarantined; NULL: it is not. Caller frees, as *ret_name (may be NULL): what
 * clear calls it, for a shell.
 */
char *claims_quarantine_reason(Claims *claims, const Bdf *function, char **ret_name);
/* It is quarantined by something that says so of this very function, not of every one. */
bool claims_quarantined_itself(Claims *claims, const Bdf *function);
