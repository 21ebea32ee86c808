/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of groups_resolve() that judges groups and explains them. Only resolve.c uses it. */
#pragma once

#include "core/group/group.h"

/*
 * Fills links and links_expected, and fault where the group cannot be what its evidence says; the
 * state until groups_observe() is called.
 */
int group_check(Group *group, const Links *links);

/*
 * Why nothing is known of these candidates of one model, and what to do. `unsettled`: the declared
 * group whose missing member forbids to infer; NULL: none. Where a look saw something, it is told.
 */
char *group_candidates_reasoning(const GpuSet *set, Gpu *const *gpus, size_t n,
				 const char *unsettled, const Links *links);

/* Notes on NVSwitches and on GPUs that are in no group for a reason worth telling. */
int group_note_ungrouped(const GpuSet *set, char ***notes);
