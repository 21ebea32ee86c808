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

#include "core/persistence.h"
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

typedef struct Assignments {
	Assignment **items;
	size_t n_items;
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

int assignment_copy(const Assignment *from, Assignment **ret);
Assignment *assignment_free(Assignment *assignment);
DEFINE_CLEANUP(Assignment, assignment_free)
Assignments *assignments_free(Assignments *all);
DEFINE_CLEANUP(Assignments, assignments_free)
