/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan, and what it is made from, with readers of both. plan.h makes plans. */
#pragma once

#include "core/checks/checks.h"
#include "core/domain/use.h"
#include "core/facts/health.h"
#include "core/facts/inspection.h"
#include "core/facts/persistence.h"
#include "core/fit/fit.h"
#include "core/group/group.h"
#include "core/group/policy.h"
#include "core/mirror/mirror.h"
#include "core/tenancy/tenancy.h"

DECLARE_STRING_TABLE(operation, Operation);

#define STEP_KINDS(X)                                                                              \
	X(STEP_PREFLIGHT, "preflight") /* the facts are still those of the plan */                 \
	X(STEP_BIND, "bind vfio-pci")  /* every function, all GPUs in parallel */                  \
	X(STEP_DEFINE, "define")       /* one definition with all hostdevs, or without them */     \
	X(STEP_ATTACH, "attach")       /* function by function to the running domain */            \
	X(STEP_DETACH, "detach")       /* function by function from the running domain */          \
	X(STEP_RESET, "reset")	       /* every function that leaves a domain; it answers */       \
	X(STEP_RESTORE, "give back")   /* every function to the driver it came from */             \
	X(STEP_VERIFY, "verify")       /* drivers and XML re-read */                               \
	X(STEP_RECORD, "record")       /* write the assignment */                                  \
	X(STEP_FORGET, "forget")       /* remove the assignment */                                 \
	/* Off: before GPUs with the mode leave nvidia. On: after they are back. */                \
	X(STEP_PERSISTENCE_OFF, "persistence off")                                                 \
	X(STEP_PERSISTENCE_ON, "persistence on")                                                   \
	X(STEP_KEEP, "keep")	 /* write that the group stays on vfio-pci */                      \
	X(STEP_UNKEEP, "unkeep") /* remove that */                                                 \
	X(STEP_VFS, "make VFs")	 /* of NICs, where a companion is one that is not there */         \
	X(STEP_ERASE, "erase")	 /* NVMes, all at once */

DECLARE_ENUM(step_kind, StepKind, STEP_KINDS, STEP_KIND_MAX_);

#define PLAN_RESETS(X)                                                                             \
	X(PLAN_RESET_NOT, "not")   /* it stays, or no guest can have had it */                     \
	X(PLAN_RESET_OWN, "own")   /* with its own method; without one it is only looked at */     \
	X(PLAN_RESET_SLOT, "slot") /* the leading one, and with it its whole slot, through vfio */ \
	X(PLAN_RESET_WITH_LEAD, "with lead") /* the leading one's reset is the whole slot's */

/* A function's part in a reset. */
DECLARE_ENUM(plan_reset, PlanReset, PLAN_RESETS, PLAN_RESET_MAX_);

/* What one function is, and what it will be. The undo of a bind restores all of `from`. */
typedef struct PlanFunction {
	Bdf bdf;
	bool companion; /* a board of its own, whatever is in its slot */
	int iommu_group;
	char *from_driver; /* NULL: none */
	bool from_vfio;	   /* driver_on_vfio(), when the plan was made. Not in JSON */
	char *from_override;
	char *to_driver;
	char *to_override;
	char *mac;     /* of a NIC's VF, which a domain has as an <interface>; NULL: it is none */
	unsigned vlan; /* of a VF; 0: none */
	PlanReset reset;
	char *reset_method; /* with PLAN_RESET_OWN: the first one; NULL: none */
	PlanReset
		undo_reset; /* its part in the reset with which the undo of a live assign begins */
	/*
	 * The mode as it is, and as it was before the assignment; unknown if it was not on nvidia.
	 */
	PersistenceMode from_persistence, to_persistence;
	bool erase;    /* an NVMe: moved to its driver, erased, and moved to `to` */
	pid_t kept_by; /* GpuPersistence's, as the plan found it; 0 in a plan from a journal */
} PlanFunction;

/* A board of the group, and who had it last when the plan was made; `state` may be "none". */
typedef struct PlanBoard {
	TenantMark last;
	bool reset; /* this plan resets it, as far as the plan can know */
	bool nvme;  /* clean is only what was erased, so that no reset makes it so */
} PlanBoard;

/* A NIC whose number of VFs changes, and what its undo puts back. */
typedef struct PlanNic {
	Bdf bdf;
	unsigned before, number;
	unsigned autoprobe _json_(or_0); /* an older gpupass wrote none */
} PlanNic;

typedef struct Plan {
	Operation operation;
	char *group;
	char *domain_uuid; /* NULL for unbind, and for a bind that is for nobody */
	char *domain_name;
	bool live;    /* the running domain is changed */
	bool config;  /* the definition is changed */
	bool changed; /* false: nothing to do, so there are no steps */
	PlanFunction *functions;
	size_t n_functions;
	/* Which devices they are, of a group with companions, for a recovery to know them by. */
	AssignedFunction *were;
	size_t n_were;
	PlanBoard *boards; /* not of an unbind, or of a bind that resets nothing */
	size_t n_boards;
	PlanNic *nics; /* prepare */
	size_t n_nics;
	Bdf *vfs _json_(max GROUP_COMPANIONS_MAX); /* that it makes, or gives their rules */
	size_t n_vfs;
	Bdf *bound_vfs _json_(max GROUP_COMPANIONS_MAX); /* of these, those that vfio-pci gets */
	size_t n_bound_vfs;
	bool accept_dirty; /* assign: a board that cannot be reset is given as it is */
	StepKind *steps;
	size_t n_steps;
	char *xml_before; /* the definition; NULL unless config */
	char *xml_after;
	char **hostdevs; /* live: one <hostdev> a function, in the order of `functions` */
	char **warnings;
	MirrorTree *mirror;	/* the tree that the definition gets; NULL: none, or no change */
	FitReport *fit;		/* assign: how the domain fits the group; NULL: not looked at */
	Assignment *assignment; /* to record (assign) or to forget (release); NULL: neither */
	Assignment *kept;	/* to keep (bind) or to keep no longer (unbind); NULL: neither */
} Plan;

/* What the caller asks for. Strings are borrowed. */
typedef struct PlanRequest {
	Operation operation;
	bool live, config; /* both false: as the domain's state suggests */
	bool keep_vfio;	   /* release: leave the functions on vfio-pci */
	bool persist;	   /* bind: keep the group on vfio-pci */
	bool reset;	   /* bind: reset all boards */
	bool allow_boot_vga;
	bool accept_dirty;  /* assign: see Plan */
	bool unasked;	    /* prepare: nobody asked for it now */
	bool only_record;   /* reconcile: neither functions nor definition */
	bool wakes_nothing; /* no GPU was opened or woken; the plan says what it lacks */
	FitMode numa, fit;  /* assign */
	Topology topology;  /* assign, if it asks for one; else it stays as it is */
	bool asks_topology;
	PeerAccess peer_access; /* assign */
	uint32_t caller_uid;
	uint64_t now_usec; /* CLOCK_REALTIME, for the record */
} PlanRequest;

/* Everything that a plan depends on. The plan keeps none of it. */
typedef struct PlanFacts {
	const PciSnapshot *snapshot;
	const GpuSet *gpus;
	const GroupSet *groups; /* observed */
	const Group *group;
	const Inspection *inspection; /* of all functions of the group */
	/* NULL: unbind, or release after it is gone. Of a bind: a machine of Proxmox VE, or NULL */
	const VirtDomain *domain;
	const DomainUses *uses; /* of every domain, running or not; NULL: unknown */
	const Assignments *assignments;
	const Tenants *tenants; /* NULL: no marks are kept (tests) */
	const Policy *policy;
	const HostFacts *host; /* NULL: not known */
	/* Of GPUs on nvidia; NULL: nobody asked. */
	const GpuPersistence *persistence;
	size_t n_persistence;
	const GpuHealth *health; /* of its GPUs and NICs, where it has NICs; NULL: nobody asked */
	size_t n_health;
	uint64_t host_key; /* domain_vf_mac() */
} PlanFacts;

/* The plan changes its driver or driver_override. */
bool plan_function_moves(const PlanFunction *function);
size_t plan_count_moves(const Plan *plan);

/*
 * The step persistence off, and its undo, concerns this function; or the step persistence on does.
 * A plan changes the mode only of functions that it moves off nvidia, or back to it.
 */
bool plan_function_loses_persistence(const PlanFunction *function);
bool plan_function_regains_persistence(const PlanFunction *function);
bool plan_function_leaves_nvidia(const PlanFunction *function);
/* How many functions the step persistence off, or on, concerns. */
size_t plan_count_persistence(const Plan *plan, StepKind step);

/* Of all its functions. */
Bdf *plan_addresses(const Plan *plan);
size_t plan_count_erases(const Plan *plan);
bool plan_has_step(const Plan *plan, StepKind kind);
/* Functions are sorted, so function i is the leading one that the plan has of its slot. */
bool plan_begins_slot(const Plan *plan, size_t i);
/* The same of its board. Ports of a NIC are in one slot, and each VF may have another tenant. */
bool plan_begins_board(const Plan *plan, size_t i);
bool plan_is_on_board(const PlanFunction *function, const Bdf *lead);
bool plan_resets(const Plan *plan);
/* The leading function, or its slot, can be reset, and no function is left out. */
bool plan_resets_board(const Plan *plan, const Bdf *lead);

/* The board that has this function; NULL: none, as in a plan from a journal. */
const PlanBoard *plan_board(const Plan *plan, const Bdf *function);

/* What is attached for function i. */
char *plan_device_xml(const Plan *plan, size_t i);
/* The domain has each VF with its MAC and its VLAN. */
bool plan_vfs_held(const Plan *plan, const DomainUse *use);
/* Each GPU that it has is in the clique, if peer access is wanted. */
bool plan_peers_held(const Plan *plan, PeerAccess wanted, const DomainUse *use);

DECLARE_FREE(Plan, plan_free)
