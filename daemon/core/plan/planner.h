/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of plan_make() share. */
#pragma once

#include "core/domain/xml.h"
#include "core/pci/driver-name.h"
#include "core/plan/types.h"
#include "util/text.h"

typedef struct Planner {
	const PlanRequest *request;
	const PlanFacts *facts;
	Problem **ret_problem;
	const PciFunction **functions; /* of the group */
	size_t n_functions;
	DomainUse use;		    /* of facts->domain, by its own XML; empty without one */
	const Assignment *record;   /* that names the group or a function of it; NULL: none */
	const char *old_name;	    /* that the domain got it by, if it is called otherwise now */
	bool apply_fit, apply_numa; /* asked for, now or when it was assigned */
	bool tune_open;	   /* assign: the definition has the group, but not all that is asked for */
	bool live, config; /* what is asked, once it is known whether the domain runs */
	Plan *plan;
} Planner;

/* Each makes its operation's plan: 0, PROBLEM or -errno. */
int plan_assign(Planner *p);
int plan_release(Planner *p);
int plan_bind(Planner *p);
int plan_unbind(Planner *p);
int plan_reconcile(Planner *p);

/* assign.c: who has it, and what is left of an earlier assignment. */
int plan_check_owners(const Planner *p);
/* define.c: what is to be applied whenever the group goes into the definition. */
int plan_read_wish(Planner *p);
/* define.c: what was applied is left as it is found. */
bool plan_keeps_tuning(const Planner *p);
/* define.c: the definition with the group in it once and whole, instead of what there is. */
int plan_define_group(Planner *p);
/* define.c: without it, or plan->config is false: nothing of it is there. */
int plan_undefine_group(Planner *p);
/* assign.c: the record to be written. */
int plan_fill_record(Planner *p);
int plan_warn_of_lost_record(Planner *p);

/* check-group.c: no job is at work on the group, and it is not quarantined. */
int plan_check_state(const Planner *p);
/* check-group.c: what is known of its links and boards suffices to give it away. */
int plan_check_evidence(const Planner *p);
/* unread.c: no assignment that cannot be read has it, or may have it. */
int plan_check_unread(const Planner *p);
/* unread.c: none of another version, or that cannot be read just now, is about it. */
int plan_check_newer(const Planner *p);
/* fence.c: no function of the group is anybody else's, and no part of it is left out. */
int plan_check_fence(const Planner *p);
/* fence.c: no domain at all has a function of the group. */
int plan_check_unused(const Planner *p);
/* fence.c: no other domain runs with a function of the group. */
int plan_check_not_running_elsewhere(const Planner *p);

/* fence.c: of every other domain it is known what it has. */
int plan_check_all_read(const Planner *p);
/* fence.c: the same as warnings, where nobody is given anything. */
int plan_warn_of_unread(const Planner *p);

/*
 * reset.c: how each function is reset: of a release all that are on a vfio driver, otherwise those
 * of boards with `reset`, when they are bound.
 */
int plan_reset(Planner *p);

/* turnover.c: who had each board last. */
int plan_fill_boards(Planner *p);
/* turnover.c: what another tenant had is reset before the domain gets it, or refused. */
int plan_turnover(Planner *p);
/* turnover.c: says which boards a release leaves as they are. */
int plan_warn_of_unreset(Planner *p);

/* unseen.c: says of which functions it is not known whether they answer, since they sleep. */
int plan_warn_of_unseen(Planner *p);
/* persistence.c: says of which functions that leave nvidia the mode is not known, and why. */
int plan_warn_of_persistence(Planner *p);

/* fit.c: writes what --numa=apply and --fit=apply ask for. */
int plan_tune(Planner *p, DomainXml *xml, FitTune *ret);
/* fit.c: there is something that they ask for now, and that would be written. */
int plan_tune_is_open(const Planner *p, bool *ret);
/* fit.c: findings and warnings, or a refusal. `tune`: what was written; may be NULL. */
int plan_fit(Planner *p, const DomainXml *xml, bool within, const FitTune *tune);
/* fit.c: the same where the definition is not changed. */
int plan_fit_running(Planner *p);

/* Sets live and config from the request and what the domain is. */
int plan_resolve_mode(Planner *p);
/* The domain is gpupass's holder of this group: by its metadata or the record. */
bool plan_domain_is_ours(const Planner *p);
/* Functions of the group in the domain's definition or running XML. */
size_t plan_count_hostdevs(const Planner *p, bool live);

/* Fills plan->functions: `from` as inspected, `to` equal to it. */
int plan_fill_functions(Planner *p);
/* Sets `to`; either may be NULL. */
int plan_set_target(PlanFunction *function, const char *driver, const char *override);
/* `to` of every function: vfio-pci, or the vfio driver it is on already. */
int plan_target_vfio(Planner *p);

/* Replaces *ret by a copy of `from`, which may be NULL. */
int plan_copy_text(const char *from, char **ret);
/* Refuses because a function of the group is not there any more. */
int plan_refuse_vanished(const Bdf *bdf, Problem **ret_problem);

/*
 * Warns of those functions of the plan that `concerns` picks, with their addresses between the two
 * texts. No warning when it picks none.
 */
int plan_warn_of_functions(Planner *p, bool (*concerns)(const Planner *p, size_t function),
			   const char *before, const char *after);

int plan_add_step(Plan *plan, StepKind kind);
#define plan_warn(plan, ...) strv_appendf(&(plan)->warnings, __VA_ARGS__)
