/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture: the states and notes that follow from the facts at hand. */
#pragma once

#include "manager/types.h"

/* Derives the whole picture again, and calls the listener. */
void manager_observe(Manager *m);

/* What the bus shows. Borrowed until the next turn of the loop. NULL before the first look. */
const Inventory *manager_inventory(const Manager *m);
/* Finds a group by its name, or by the name under which it was assigned. NULL: there is none. */
const Group *manager_find_group(const Manager *m, const char *name);
/* The group of this GPU, where a job has it in hand or it is quarantined: a look may have to wait
 * for the device's lock. NULL: neither. */
const Group *manager_group_in_hand(const Manager *m, const Bdf *lead);
/* What was seen of the links; NULL: nothing. */
const Evidence *manager_evidence(const Manager *m);
const Assignments *manager_assignments(const Manager *m);
const DomainUses *manager_uses(const Manager *m); /* NULL: not known */
char *const *manager_notes(const Manager *m);
bool manager_libvirt_connected(const Manager *m);
DomainSource manager_domain_source(const Manager *m);
