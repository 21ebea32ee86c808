/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fence: what the daemon tells libvirt's hook of its groups, so that the hook can decide
 * without it. Schema org.gpupass1.fence/1, one file, replaced as a whole (store/fence.h). At boot
 * the hook may run before the daemon does, so the file outlives both.
 */
#pragma once

#include <stdint.h>

#include "core/tenancy/tenancy.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

/* Whether a domain may start with a group at all. */
#define FENCE_STATES(X)                                                                            \
	X(FENCE_OPEN, "open")	  /* the domain that it is assigned to may */                      \
	X(FENCE_UNSAFE, "unsafe") /* boards or links are not what they should be */                \
	X(FENCE_UNREAD, "unread") /* whether it is assigned cannot be read */                      \
	X(FENCE_BUSY, "busy")	  /* a job is at work on it */                                     \
	X(FENCE_QUARANTINED, "quarantined")

/* From best to worst. */
DECLARE_ENUM(fence_state, FenceState, FENCE_STATES, FENCE_STATE_MAX_);

/* The ids tell whether the address still means the same board after a boot. */
typedef struct FenceFunction {
	Bdf bdf _json_(as "address");
	uint16_t vendor, device, subsystem_vendor, subsystem_device _json_(hex 4);
	bool companion _json_(if_any); /* of no GPU: a NIC, a VF or an NVMe */
	bool vf _json_(if_any);	       /* a NIC's, that a domain must have as an <interface> */
	unsigned vlan _json_(if_any);  /* of a VF; 0: none */
} FenceFunction;

#define FENCE_GROUPS_MAX 4096
#define FENCE_BOARDS_MAX 64
#define FENCE_FUNCTIONS_MAX (8 * FENCE_BOARDS_MAX)

/* Who had a board of the group last. */
typedef struct FenceBoard {
	Bdf bdf _json_(as "address"); /* of the leading function */
	TenantState tenant _json_(wrong "is no state of a board");
	char *domain_uuid _json_(if_any); /* NULL: nobody, or a tenant that is not known */
	char *domain_name _json_(if_any, plain);
} FenceBoard;

typedef struct FenceGroup {
	char *name;
	FenceState state _json_(wrong "is no state of a group");
	char *reason _json_(if_any, plain); /* why it is not open; NULL: it is */
	char *domain_uuid _json_(if_any);   /* that it is assigned to; NULL: none */
	char *domain_name _json_(if_any, plain);
	bool foreign_use _json_(if_any); /* ForeignUse=: any domain may have the whole of it */
	FenceFunction *functions _json_(max FENCE_FUNCTIONS_MAX);
	size_t n_functions;
	FenceBoard *boards _json_(max FENCE_BOARDS_MAX);
	size_t n_boards;
} FenceGroup;

typedef struct Fence {
	uint64_t generation;	      /* counts the files */
	uint64_t written_usec;	      /* CLOCK_REALTIME */
	char *boot_id _json_(if_any); /* of the boot in which it was written; NULL: not known */
	FenceGroup *groups _json_(max FENCE_GROUPS_MAX);
	size_t n_groups;
	FenceFunction *others _json_(max FENCE_GROUPS_MAX); /* of NVIDIA GPUs in no group */
	size_t n_others;
} Fence;

/* JSON with a newline, and back. Strict: -EBADMSG, or -EPROTO (another version), with a message. */
char *fence_to_json(const Fence *fence);
int fence_from_json(const char *text, size_t size, Fence **ret, char **ret_message);

DECLARE_DUP(Fence, fence_copy)
/*
 * Both say the same of groups and boards, whenever they were written. Of a group that is busy in
 * both only that counts, so that what a job does to it is not written before its end. Groups that
 * are `no_matter` (may be NULL) are left out.
 */
bool fence_equal_but(const Fence *a, const Fence *b,
		     bool (*no_matter)(const FenceGroup *a, const FenceGroup *b));
DECLARE_FREE(Fence, fence_free)

/* The group that has this function, which is *ret_function (may be NULL). NULL: none. */
const FenceGroup *fence_find(const Fence *fence, const Bdf *bdf,
			     const FenceFunction **ret_function);
/* NULL: it is not of a GPU outside of all groups. */
const FenceFunction *fence_find_other(const Fence *fence, const Bdf *bdf);

/* Takes the reason. A state that is no worse changes nothing. */
void fence_worsen(FenceGroup *group, FenceState state, char *reason);
/*
 * Closes each group that has one of these functions, unless it is closed for a worse reason. Those
 * that no group has become a group of this name, which is closed.
 */
void fence_close(Fence *fence, const char *name, const Bdf *functions, size_t n, FenceState state,
		 const char *reason);
