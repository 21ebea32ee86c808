/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The durable wish that a group belongs to a domain, with what release needs to put everything
 * back: identity, driver, driver_override and persistence mode of each function, as they were
 * before. Stored in assignments.d (store/assignments.h).
 */
#pragma once

#include <stdint.h>

#include "core/base/limits.h"
#include "core/facts/persistence.h"
#include "core/facts/record.h"
#include "core/pci/pci-snapshot.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* Why a group stays on vfio-pci while no domain has it; see kept.h. */
#define KEPT_WHYS(X)                                                                               \
	X(KEPT_NOT, "no")                                                                          \
	X(KEPT_ASKED, "asked")	   /* bind --persist */                                            \
	X(KEPT_SETTING, "setting") /* KeepBound= names it */

DECLARE_ENUM(kept_why, KeptWhy, KEPT_WHYS, KEPT_WHY_MAX_);

/* How far apart the guest sees the group's members: core/mirror. */
#define TOPOLOGIES(X)                                                                              \
	X(TOPOLOGY_FLAT, "flat")     /* each member on a root port of pcie.0 */                    \
	X(TOPOLOGY_MIRROR, "mirror") /* a tree like the host's */

DECLARE_ENUM(topology, Topology, TOPOLOGIES, TOPOLOGY_MAX_);

/* Peer access over PCIe between the boards of a group. */
#define PEER_ACCESSES(X)                                                                           \
	X(PEER_ACCESS_OFF, "off")                                                                  \
	X(PEER_ACCESS_ON, "on")                                                                    \
	X(PEER_ACCESS_UNSAFE, "unsafe") /* also between GeForce boards */

DECLARE_ENUM(peer_access, PeerAccess, PEER_ACCESSES, PEER_ACCESS_MAX_);

typedef struct AssignedFunction {
	Bdf bdf;
	uint16_t vendor, device, subsystem_vendor, subsystem_device _json_(hex 4);
	char *original_driver _json_(if_any);	/* NULL: none was bound */
	char *original_override _json_(if_any); /* NULL: none was set */
	/* Off is stored as unknown: a GPU returns to it by itself. */
	PersistenceMode original_persistence _json_(by assigned_persistence);
	char *uuid _json_(if_any); /* of the GPU, where it was known; NULL otherwise */
	/* Likewise, and of a companion: of a VF it is its NIC's. */
	char *serial_number _json_(if_any);
	/* pci_function_path() of a companion, of which many have no serial number; NULL: not known */
	char *path _json_(if_any);
} AssignedFunction;

typedef struct Assignment {
	char *domain_uuid;
	char *domain_name; /* as it was then; the UUID is the key */
	char *group_name _json_(as "group");
	/* A kept group instead: `domain_uuid` and `domain_name` are NULL. */
	KeptWhy kept _json_(no);
	uint64_t created_usec; /* CLOCK_REALTIME */
	uint32_t created_by;   /* uid of the caller */
	/* --fit=apply, --numa=apply: what they write goes into the definition with the group. */
	bool apply_fit _json_(if_any);
	bool apply_numa _json_(if_any);
	Topology topology _json_(if_any); /* --topology: what the definition has */
	PeerAccess peer_access _json_(if_any);
	AssignedFunction *functions _json_(max GROUP_FUNCTIONS_MAX);
	size_t n_functions;
	char *file _json_(no); /* its name in its directory; NULL: it was not read from there */
} Assignment;
DECLARE_FREE(Assignment, assignment_free)
/* Of a kept group, too. */
DECLARE_DUP(Assignment, assignment_copy)

typedef struct Assignments {
	Assignment **items;
	size_t n_items;
	/*
	 * Files of assignments.d that cannot be used, although some domain has GPUs by them: what
	 * they may be about is neither given away nor moved.
	 */
	RecordFaults faults;
	Assignment **kept; /* groups that stay on vfio-pci while no domain has them */
	size_t n_kept;
} Assignments;
DECLARE_FREE(Assignments, assignments_free)

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
/* What is there now has the ids that were recorded, and that place. NULL, of either: no. */
bool assigned_function_is(const AssignedFunction *then, const PciFunction *now);
/*
 * "is 10de:2204 (…) now and was 10de:2230 (…) when it was recorded". NULL: it is the same, as far
 * as that is known. `serial`: its number now; NULL: not known.
 */
char *assigned_function_change(const AssignedFunction *then, const PciFunction *now,
			       const char *serial);
/* The same of a VF that is yet to be made of this NIC, whose serial number it has. */
char *assigned_vf_change(const AssignedFunction *then, const PciFunction *nic, const char *serial);
/* -EBADMSG: there is none, or an address is there twice. */
int assignment_check_functions(const void *assignment, char **ret_message);

extern const RecordKind assignment_kind;

/* As a record's text, and back: record_parse(). The document alone has no checksum. */
char *assignment_to_json(const Assignment *assignment);
json_t *assignment_document(const Assignment *assignment);
int assignment_from_json(const char *text, size_t size, Assignment **ret, char **ret_message);

/*
 * "UUID.json" is the file of a domain's first group. Each further one is "UUID_ADDRESS.json", with
 * the address of one of its functions.
 */
char *assignment_file_name(const Assignment *assignment, bool further);

/* libvirt's own form: 8-4-4-4-12 lower-case hex digits. */
bool assignment_uuid_valid(const char *uuid);

/*
 * What a record of another version says, if it gives everything that is checked before a function
 * is touched. NULL: it does not.
 */
Assignment *assignment_read_leniently(const RecordFault *fault);
