/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The durable wish that a group belongs to a domain, with what release needs to put everything
 * back: identity, driver, driver_override and persistence mode of each function, as they were
 * before. Stored in assignments.d (store/assignments.h) with schema org.gpupass1.assignment/1.
 * Schema /2 is used only for what /1 cannot say: a GPU had persistence mode on, or something is to
 * be applied. Schema /3 has the members of /2; a version that does not know it could take one group
 * of the domain for all that it has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/facts/persistence.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* Why a group stays on vfio-pci while no domain has it; see kept.h. */
#define KEPT_WHYS(X)                                                                               \
	X(KEPT_NOT, "no")                                                                          \
	X(KEPT_ASKED, "asked")	   /* bind --persist */                                            \
	X(KEPT_SETTING, "setting") /* KeepBound= names it */

typedef enum KeptWhy {
#define X(enumerator, name) enumerator,
	KEPT_WHYS(X)
#undef X
		KEPT_WHY_MAX_,
} KeptWhy;
DECLARE_STRING_TABLE(kept_why, KeptWhy);

typedef struct AssignedFunction {
	Bdf bdf;
	uint16_t vendor, device, subsystem_vendor, subsystem_device;
	char *original_driver;	 /* NULL: none was bound */
	char *original_override; /* NULL: none was set */
	char *uuid;		 /* of the GPU, where it was known; NULL otherwise */
	char *serial_number;	 /* likewise */
	/* Off is stored as unknown: a GPU returns to it by itself. */
	PersistenceMode original_persistence;
} AssignedFunction;

typedef struct Assignment {
	char *domain_uuid;
	char *domain_name; /* as it was then; the UUID is the key */
	char *group_name;
	AssignedFunction *functions;
	size_t n_functions;
	uint64_t created_usec; /* CLOCK_REALTIME */
	uint32_t created_by;   /* uid of the caller */
	/* --fit=apply, --numa=apply: what they write goes into the definition with the group. */
	bool apply_fit;
	bool apply_numa;
	/* A kept group instead: `domain_uuid` and `domain_name` are NULL. */
	KeptWhy kept;
	char *file; /* its name in its directory; NULL: it was not read from there */
} Assignment;

/*
 * A file of assignments.d that cannot be read as it should, although some domain has GPUs by it.
 * The fence blocks that domain and those functions, as far as they are known. If the functions are
 * not known, it may be about any function.
 */
typedef enum AssignmentFenceKind {
	ASSIGNMENT_NEWER,   /* of another version: it is valid, and must not be lost */
	ASSIGNMENT_DAMAGED, /* damaged, or set aside as damaged */
	ASSIGNMENT_UNREAD,  /* it could not be read just now */
} AssignmentFenceKind;

typedef struct AssignmentFence {
	char *file; /* its name, printable */
	AssignmentFenceKind kind;
	char *why;
	char *domain_uuid; /* NULL: not known */
	Bdf *functions;
	size_t n_functions; /* 0: not known */
	/*
	 * Another version wrote it, but it says enough to identify each function: gpupass-bind uses
	 * it.
	 */
	Assignment *lenient;
} AssignmentFence;

typedef struct Assignments {
	Assignment **items;
	size_t n_items;
	AssignmentFence *fences;
	size_t n_fences;
	Assignment **kept; /* groups that stay on vfio-pci while no domain has them */
	size_t n_kept;
} Assignments;

/*
 * The next assignment of this domain from *position on; NULL: none. Advances *position. A domain
 * may have several groups, each with a record of its own.
 */
const Assignment *assignments_of_domain(const Assignments *all, const char *domain_uuid,
					size_t *position);
bool assignments_have_domain(const Assignments *all, const char *domain_uuid);
/* The stored assignment of the same domain that shares a function with this one; NULL: none. */
const Assignment *assignments_find_same(const Assignments *all, const Assignment *assignment);
const Assignment *assignments_find_group(const Assignments *all, const char *group_name);
/* The assignment that names this function; NULL: none. */
const Assignment *assignments_find_function(const Assignments *all, const Bdf *bdf);
const AssignedFunction *assignment_function(const Assignment *assignment, const Bdf *bdf);
/* -EBADMSG: there is none, or an address is there twice. */
int assignment_check_functions(const Assignment *assignment, char **ret_message);

/*
 * JSON text, and back. Parsing is strict: -EBADMSG or -EPROTO (another version) with *ret_message.
 * The text has the lowest version that can say it. An older gpupass leaves a file of a later
 * version alone, but sets a file of its own version aside if that has an unknown member, or a name
 * other than the domain's UUID. _further() is for a file of another name.
 */
char *assignment_to_json(const Assignment *assignment);
char *assignment_to_json_further(const Assignment *assignment);
int assignment_from_json(const char *text, size_t size, Assignment **ret, char **ret_message);

/* libvirt's own form: 8-4-4-4-12 lower-case hex digits. */
bool assignment_uuid_valid(const char *uuid);

/*
 * Adds the fence for a file that assignment_from_json() refused, or that could not be read (text
 * NULL). `error`: -EPROTO for another version, otherwise the error of the read. The file's name
 * gives the domain.
 */
void assignments_add_fence(Assignments *all, const char *file, int error, const char *why,
			   const char *text, size_t size);
/*
 * The first fence about one of these functions or their boards, or about this domain (NULL: none).
 * A fence that is surely about them comes before one that may be. NULL: no fence is.
 */
const AssignmentFence *assignments_fence(const Assignments *all, const Bdf *functions, size_t n,
					 const char *domain_uuid);
bool assignment_fence_is_about(const AssignmentFence *fence, const Bdf *functions, size_t n,
			       const char *domain_uuid);
/* "assignments.d/UUID.json was written by another version (its schema is …)" */
char *assignment_fence_what(const AssignmentFence *fence);
/* What the operator can do; a constant. */
const char *assignment_fence_remedy(const AssignmentFence *fence);
/* Both in one text, for those who look at the host. */
char *assignment_fence_note(const AssignmentFence *fence);

Assignment *assignment_copy(const Assignment *from); /* without `file` */
Assignment *assignment_free(Assignment *assignment);
DEFINE_CLEANUP(Assignment, assignment_free)
Assignments *assignments_free(Assignments *all);
DEFINE_CLEANUP(Assignments, assignments_free)
