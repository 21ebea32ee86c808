/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of one plan_make(), and the functions that its parts call. */
#pragma once

#include "core/domain/xml.h"
#include "core/plan/types.h"
#include "util/text.h"

typedef struct Planner {
	const PlanRequest *request;
	const PlanFacts *facts;
	Problem **ret_problem;
	const PciFunction **functions; /* of the group */
	size_t n_functions;
	DomainUse use;		    /* of facts->domain, by its own XML; empty without one */
	const Assignment *record;   /* by which the group is assigned; NULL: none */
	const char *old_name;	    /* by which the domain got it, if its name has changed since */
	bool apply_fit, apply_numa; /* asked for now, or when it was assigned */
	Topology topology;	    /* that the definition is to have: likewise */
	PeerAccess peer_access;	    /* likewise */
	bool tune_open;	   /* assign: the definition has the group, but not all that is asked for */
	bool live, config; /* what to change, after plan_resolve_mode() */
	Plan *plan;
} Planner;

/* Each makes the plan of its operation: 0, PROBLEM or -errno. */
int plan_assign(Planner *p);
int plan_release(Planner *p);
int plan_bind(Planner *p);
int plan_unbind(Planner *p);
int plan_reconcile(Planner *p);
int plan_prepare(Planner *p);

/* vfs.c: which VFs a prepare makes, and gives their rules. */
int plan_vfs(Planner *p);

/* assign.c: checks who has the group, and what an earlier assignment left. */
int plan_check_owners(const Planner *p);
/* define.c: reads what must be applied whenever the group goes into the definition. */
int plan_read_wish(Planner *p);
/* define.c: makes the definition with the whole group in it exactly once. */
int plan_define_group(Planner *p);
/*
 * define.c: makes the definition without the group. plan->config becomes false if it was not there.
 */
int plan_undefine_group(Planner *p);
/* assign.c: fills the record that will be written. */
void plan_fill_record(Planner *p);
void plan_warn_of_lost_record(Planner *p);

/* check-group.c: refuses while a job works on the group, and if it is quarantined. */
int plan_check_state(const Planner *p);
/* check-group.c: refuses what must be made or erased before a domain may have it. */
int plan_check_ready(const Planner *p);
/* check-group.c: refuses if the evidence about links and boards does not suffice. */
int plan_check_evidence(const Planner *p);
/* check-group.c: refuses if an unreadable assignment has the group, or may have it. */
int plan_check_unread(const Planner *p);
/*
 * check-group.c: refuses if an assignment of another version, or one that cannot be read just now,
 * is about the group.
 */
int plan_check_newer(const Planner *p);
/* fence.c: refuses if somebody else has a function, or if a part of the group would be left out. */
int plan_check_fence(const Planner *p);
/*
 * fence.c: refuses if another domain than the plan's has a function of the group. If the plan has
 * none, any domain counts.
 */
int plan_check_others(const Planner *p);
/* fence.c: refuses if another domain runs with a function of the group. */
int plan_check_not_running_elsewhere(const Planner *p);

/* fence.c: refuses unless the definition of every other domain is known. */
int plan_check_all_read(const Planner *p);
/* fence.c: only warns of it, for plans that give nobody anything. */
void plan_warn_of_unread(const Planner *p);

/*
 * reset.c: decides how each function is reset. A release resets all functions on a vfio driver.
 * Other plans reset the boards with `reset` set, after the bind.
 */
int plan_reset(Planner *p);
/* Decides how the undo of a live assign resets what its guest had. Refuses nothing. */
int plan_reset_for_undo(Planner *p);
/*
 * When one board of a group is reset, so are the others, as far as they can be: NVLinks cross them,
 * and before Ampere a link partner should be reset together with its peer (kernel_nvlink.c in
 * NVIDIA's open kernel modules).
 */
int plan_reset_partners(Planner *p);

/* turnover.c: fills in who had each board last. */
void plan_fill_boards(Planner *p);
/* turnover.c: plans a reset of the boards that another tenant had, or refuses. */
int plan_turnover(Planner *p);
/* turnover.c: plans a reset of all boards, as far as there is a way. */
int plan_reset_all(Planner *p);
/* turnover.c: warns of the boards that a release does not reset. */
void plan_warn_of_unreset(Planner *p);

/* warnings.c: warns of functions that may sleep, because nobody checked whether they answer. */
void plan_warn_of_unseen(Planner *p);
/* warnings.c: warns of functions that leave nvidia and whose mode is unknown. */
void plan_warn_of_persistence(Planner *p);

/* mirror.c: reads which topology the definition is to have. */
void plan_read_topology(Planner *p);
/* mirror.c: the definition has that topology, as far as it has the group. */
bool plan_topology_holds(const Planner *p);
/* mirror.c: refuses a mirrored tree for a running domain. */
int plan_check_mirror(const Planner *p);
/* mirror.c: makes the tree, if it is asked for, of the XML without the group of `n` members. */
int plan_mirror(Planner *p, const DomainXml *xml, size_t n);

/* peers.c: "libvirt is 8.1.0, and that needs 8.2.0"; NULL: it is not too old. New. */
char *plan_old_version(const char *what, uint64_t is, const char *who, uint64_t least);
/* peers.c: refuses peer access that a running domain cannot get. */
int plan_check_hot_peers(const Planner *p);
/* peers.c: refuses peer access over PCIe that may not work, or that is there unasked. */
int plan_check_peers(Planner *p, const DomainXml *xml);

/* fit.c: writes what --numa=apply and --fit=apply ask for. */
int plan_tune(Planner *p, DomainXml *xml, FitTune *ret);
/* fit.c: the definition lacks something that they ask for now. */
int plan_tune_is_open(const Planner *p, bool *ret);
/* fit.c: adds findings and warnings, or refuses. `tune`: what was written; may be NULL. */
int plan_fit(Planner *p, const DomainXml *xml, bool within, const FitTune *tune);
/* fit.c: the same where the definition is not changed. */
int plan_fit_running(Planner *p);

/* check-group.c: plan_check_functions(), whose warnings become the plan's. */
int plan_check_group_functions(Planner *p);

/* Sets live and config from the request and the state of the domain. */
int plan_resolve_mode(Planner *p);
/* gpupass gave the group to this domain: its metadata or the record says so. */
bool plan_domain_is_ours(const Planner *p);
/* How many functions of the group are in the definition, or in the running XML. */
size_t plan_count_hostdevs(const Planner *p, bool live);

/* Fills plan->functions: `from` as inspected, and `to` equal to it. */
int plan_fill_functions(Planner *p);
/* Sets `to`; either may be NULL. */
void plan_set_target(PlanFunction *function, const char *driver, const char *override);
/* The driver, which the function has or is to get, is one of vfio. */
bool plan_driver_is_vfio(const PlanFunction *function, const char *driver);
/* Sets `to` of every function to the vfio driver that it is on, otherwise to vfio-pci. */
void plan_target_vfio(Planner *p);

/* Replaces *ret by a copy of `from`, which may be NULL. */
void plan_copy_text(const char *from, char **ret);
/* Refuses because this function of the group is not there any more. */
int plan_refuse_vanished(const Bdf *bdf, Problem **ret_problem);

/*
 * Warns of those functions of the plan that `concerns` picks, with their addresses between the two
 * texts. No warning when it picks none.
 */
void plan_warn_of_functions(Planner *p, bool (*concerns)(const Planner *p, size_t function),
			    const char *before, const char *after);

/* If it is wanted. */
void plan_add_step(Plan *plan, StepKind kind, bool wanted);
#define plan_warn(plan, ...) strv_appendf(&(plan)->warnings, __VA_ARGS__)
