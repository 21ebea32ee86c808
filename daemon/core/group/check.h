/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of groups_resolve() that judges groups and explains them. Only resolve.c uses it. */
#pragma once

#include "core/group/group.h"

/*
 * Fills links and links_expected. Sets fault if the group cannot be what its evidence says. Sets
 * the state that holds until groups_observe() is called.
 */
void group_check(Group *group, const Links *links, const GroupSet *all, const Policy *policy);

/*
 * Why the links of these candidates, all of one model, are not known, and what to do. `unsettled`:
 * the declared group that lacks a member and so forbids to infer; NULL: none. If a look saw a doubt
 * about them, the text says so.
 */
char *group_candidates_reasoning(const GpuSet *set, Gpu *const *gpus, size_t n,
				 const char *unsettled, const Links *links);

/* Appends notes on NVSwitches, and on GPUs that are in no group for a reason worth a note. */
void group_note_ungrouped(const GpuSet *set, char ***notes);
