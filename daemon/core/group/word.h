/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What guests say of the links of the groups that their domains have. A tenant controls its guest,
 * and so what the guest says: it may degrade the group that it has, and decides nothing else. It
 * is never a fault, which would keep a group from other domains, and from its own.
 */
#pragma once

#include "core/group/group.h"
#include "core/links/evidence.h"

/*
 * Sets the word of each group whose GPUs one guest reported at one time, if the boards are still
 * those. `evidence` may be NULL.
 */
void groups_hear_guests(GroupSet *groups, const Evidence *evidence, const GpuSet *set);

/* The guest's domain has the group by this record, and had it when the guest was asked. */
bool group_word_counts(const Group *group, const Assignment *record);

/*
 * Why the guest that has the group sees it degraded: one sentence that ends in the remedy. NULL: it
 * sees all links, or the host looked later.
 */
char *group_word_complaint(const Group *group, const char *domain);

/* For people: a word that no longer counts. NULL: there is none. */
char *group_word_past(const Group *group);
