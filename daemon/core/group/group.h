/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups: the GPUs that links tie together, and the companions that are declared with them (NICs,
 * VFs, NVMes). They go to one domain together or not at all.
 *
 * groups_resolve() makes them from evidence. groups_observe() then sets each group's stable state
 * from drivers, domain XML and assignments. Moving states come from the manager's jobs.
 */
#pragma once

#include "core/domain/use.h"
#include "core/facts/assignment.h"
#include "core/facts/member.h"
#include "core/group/policy.h"
#include "core/links/link.h"

DECLARE_STRING_TABLE(group_state, GroupState);
/* For job/ and bus/. */
DECLARE_STRING_TABLE(job_state, JobState);
DECLARE_STRING_TABLE(step_state, StepState);

/* One way of knowing the links of a group. */
typedef struct GroupEvidence {
	Provenance provenance;
	unsigned links;	    /* the fewest between two of its GPUs; 0: none, or not reported */
	uint64_t seen_usec; /* the oldest look; 0: not an observation */
	char *source;
} GroupEvidence;

/*
 * What a guest said last of the links between all GPUs of the group. Only groups_observe() acts on
 * it, and only while `counts`: the guest's domain has the group, by a record that is older than the
 * word.
 */
typedef struct GuestWord {
	char *domain_uuid;  /* NULL: not known */
	char *source;	    /* "guest vm42" */
	uint64_t seen_usec; /* 0: no guest said anything */
	unsigned links;	    /* the fewest between two of its GPUs */
	bool counts;	    /* set by groups_observe() */
} GuestWord;

/* What a prepare must do before a domain may have a companion. */
typedef enum CompanionNeed {
	COMPANION_READY,
	COMPANION_TO_MAKE,    /* a VF that is not there, while its NIC is */
	COMPANION_TO_RULE,    /* a VF that is not known to be kept to its own address */
	COMPANION_TO_ERASE,   /* an NVMe that is not known to be clean, and may be erased */
	COMPANION_TO_COMPARE, /* a clean one that is not known to be that which was erased */
} CompanionNeed;

/* One function, which is taken, given and fenced off as a GPU's functions are. */
typedef struct Companion {
	Member member;
	const PciFunction *function; /* borrowed; NULL: it is not there */
	CompanionNeed need;	     /* set by groups_observe(), unless others have the group */
	bool unruled, unseen;	     /* set by vf_watch_settle() */
} Companion;

typedef struct Group {
	char *name;
	Gpu **gpus _owned_(free); /* by address; the GPUs are borrowed from the set */
	size_t n_gpus;
	Companion *companions; /* as they were declared */
	size_t n_companions;
	bool whole_nic, erase, foreign_use; /* as its declaration says: core/links/declaration.h */
	unsigned vlan;			    /* of its VFs; 0: none */
	Provenance provenance;	 /* of the weakest link that it needs; NONE for candidates */
	unsigned links;		 /* observed between two of its GPUs; 0: not known */
	unsigned links_expected; /* that the board should have; 0: not known */
	uint64_t evidence_usec;	 /* the oldest look that `links` rests on; 0: not observed */
	GroupEvidence *evidence; /* strongest first */
	size_t n_evidence;
	GuestWord word;
	char *source;	      /* where the evidence comes from */
	char *reasoning;      /* how it is known, one sentence; never NULL */
	bool single;	      /* it is meant to be one GPU, with no link */
	bool seen_otherwise;  /* a look at the links found the fault */
	char *fault;	      /* why it cannot be assigned as it is; NULL: no fault */
	bool companion_fault; /* it is about a companion, and not about GPUs */
	/* Set by groups_observe(): */
	GroupState state;
	char *reason;	   /* why it has this state, one sentence; may be NULL */
	char *domain_uuid; /* the domain that has it, or to which it is assigned; NULL: none */
	char *domain_name;
	bool assignable; /* provenance suffices under this policy, and it is free or bound */
	KeptWhy kept;	 /* it stays on vfio-pci while no domain has it */
} Group;
DECLARE_CLEAR(Group, group_clear)

typedef struct GroupSet {
	Group *items; /* by name in natural order: pair2 before pair10 */
	size_t n_items;
	char **notes; /* for the operator: a declared GPU that is missing, for example */
	const PciSnapshot *snapshot; /* borrowed */
} GroupSet;
DECLARE_FREE(GroupSet, group_set_free)

Group *group_set_find(const GroupSet *groups, const char *name);
/* By any function of its GPUs, or by a companion's address, there or not. */
Group *group_set_find_gpu(const GroupSet *groups, const Bdf *bdf);
/* NULL: it is no companion of this group. */
const Companion *group_companion(const Group *group, const Bdf *bdf);
/* It is a VF of this group. */
bool group_has_vf(const Group *group, const Bdf *bdf);
/* A VF of this group is not there, and may be made. */
bool group_lacks_vf(const Group *group);
/* A prepare has to make a VF of it, or to keep one to its own address. */
bool group_awaits_vf(const Group *group);
/* It is a NIC, whole or a function of one, and it is there. */
bool companion_is_nic(const Companion *companion);
/* The NICs of the group that are there; `to` has room for all companions. */
size_t group_nics(const Group *group, const PciFunction **to);
/*
 * The group that has the GPUs of the record, whatever its name is now. If several have some, the
 * one with the record's name.
 */
Group *group_set_find_assigned(const GroupSet *groups, const Assignment *assignment);
/* The group of this name. If there is none, the group that was assigned by this name. */
Group *group_set_find_named(const GroupSet *groups, const Assignments *assignments,
			    const char *name);

/* The driver of the leading functions, "mixed" when they differ, "none" without one. */
const char *group_driver(const Group *group);
/* What the host observed, or the guest that has the group, if that saw fewer. 0: not known */
unsigned group_links(const Group *group);
/* "NV4" from observed links, "NV4?" from the board when not observed, "?" when neither. */
char *group_link_text(const Group *group);
/*
 * All functions of all its GPUs, GPU by GPU in address order, then the companions that are there;
 * members borrowed.
 */
const PciFunction **group_functions(const Group *group, size_t *ret_n);
/* Those that must go together: the leading function of each GPU, then the companions. */
const PciFunction **group_leads(const Group *group, size_t *ret_n);
/*
 * What has a tenant: its GPUs, and each companion that is there as a board of one function. Their
 * members are borrowed; free the list alone.
 */
Gpu *group_boards(const Group *group, size_t *ret_n);
/* Their addresses. ret_n may be NULL. */
Bdf *group_addresses(const Group *group, size_t *ret_n);

/* Compares names as people count: pair2 comes before pair10. */
int group_compare_names(const char *a, const char *b);
