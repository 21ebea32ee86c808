/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The durable wish that a group belongs to a domain, with what release needs to put everything
 * back: each function's identity, driver, driver_override and persistence mode as they were before.
 * Stored as assignments.d/<domain-uuid>.json: schema org.gpupass1.assignment/1, or /2 where it says
 * more than /1 has words for: that a GPU had persistence mode on, or what is to be applied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/facts/persistence.h"
#include "gpupass/cleanup.h"

typedef struct AssignedFunction {
	Bdf bdf;
	uint16_t vendor, device, subsystem_vendor, subsystem_device;
	char *original_driver;	 /* NULL: none was bound */
	char *original_override; /* NULL: none was set */
	char *uuid;		 /* of the GPU, where it was known; NULL otherwise */
	char *serial_number;	 /* likewise */
	/* Off is stored as unknown. */
	PersistenceMode original_persistence;
} AssignedFunction;

typedef struct Assignment {
	char *domain_uuid;
	char *domain_name; /* as it was; the UUID is the key */
	char *group_name;
	AssignedFunction *functions;
	size_t n_functions;
	uint64_t created_usec; /* CLOCK_REALTIME */
	uint32_t created_by;   /* uid of the caller */
	bool apply_fit;	       /* --fit=apply, --numa=apply: whenever the group goes into the */
	bool apply_numa;       /* definition, so does what these write */
} Assignment;

/*
 * A file of assignments.d that cannot be read as it should: somebody has GPUs by it. Its domain and
 * its functions are kept apart as far as they are known, and where the functions are not, any
 * function may be its.
 */
typedef enum AssignmentFenceKind {
	ASSIGNMENT_NEWER,   /* of another version: still holds, and must not be lost */
	ASSIGNMENT_DAMAGED, /* or set aside as that */
	ASSIGNMENT_UNREAD,  /* it could not be read just now */
} AssignmentFenceKind;

typedef struct AssignmentFence {
	char *file; /* its name, printable */
	AssignmentFenceKind kind;
	char *why;
	char *domain_uuid; /* NULL: not known */
	Bdf *functions;
	size_t n_functions; /* 0: not known */
	/* Of another version, with all that it takes to know each function: what boot acts on. */
	Assignment *lenient;
} AssignmentFence;

typedef struct Assignments {
	Assignment **items;
	size_t n_items;
	AssignmentFence *fences;
	size_t n_fences;
} Assignments;

const Assignment *assignments_find_domain(const Assignments *all, const char *domain_uuid);
const Assignment *assignments_find_group(const Assignments *all, const char *group_name);
/* The assignment that names this function; NULL: none. */
const Assignment *assignments_find_function(const Assignments *all, const Bdf *bdf);
const AssignedFunction *assignment_function(const Assignment *assignment, const Bdf *bdf);

/*
 * JSON text, and back. Parsing is strict: -EBADMSG / -EPROTO (another version) with *ret_message.
 * The text is of the lowest version that can say it: an older gpupass leaves a later version's file
 * alone, but sets aside one of its own version with a member that it does not know.
 */
char *assignment_to_json(const Assignment *assignment);
int assignment_from_json(const char *text, size_t size, Assignment **ret, char **ret_message);

/* libvirt's own form: 8-4-4-4-12 lower-case hex digits. */
bool assignment_uuid_valid(const char *uuid);

/*
 * Adds the fence for a file that assignment_from_json() refused, or that could not be read (text
 * NULL): -EPROTO another version's, otherwise its error. The domain is that of the file's name.
 */
int assignments_add_fence(Assignments *all, const char *file, int error, const char *why,
			  const char *text, size_t size);
/*
 * The first fence that keeps these functions, or a board that one of them is on, or this domain
 * (NULL: none) apart: one that is about them before one that may be. NULL: none is.
 */
const AssignmentFence *assignments_fence(const Assignments *all, const Bdf *functions, size_t n,
					 const char *domain_uuid);
bool assignment_fence_is_about(const AssignmentFence *fence, const Bdf *functions, size_t n,
			       const char *domain_uuid);
/* "assignments.d/UUID.json was written by another version (its schema is …)" */
char *assignment_fence_what(const AssignmentFence *fence);
/* What a person can do; a constant. */
const char *assignment_fence_remedy(const AssignmentFence *fence);
/* The whole, for those who look at the host. */
char *assignment_fence_note(const AssignmentFence *fence);

int assignment_copy(const Assignment *from, Assignment **ret);
Assignment *assignment_free(Assignment *assignment);
DEFINE_CLEANUP(Assignment, assignment_free)
Assignments *assignments_free(Assignments *all);
DEFINE_CLEANUP(Assignments, assignments_free)
