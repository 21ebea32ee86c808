/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture: states and notes, derived from the facts at hand. */
#pragma once

#include "manager/types.h"

/* Derives all of it anew and tells the listener. Out of memory: the picture stays. */
void manager_observe(Manager *m);

/* For the faces. Borrowed until the next turn of the loop. NULL before the first. */
const Inventory *manager_inventory(const Manager *m);
/* By its name, or the one that it was assigned by. NULL: none. */
const Group *manager_find_group(const Manager *m, const char *name);
/* What was seen of the links, as the picture has it; NULL: nothing. */
const Evidence *manager_evidence(const Manager *m);
const Assignments *manager_assignments(const Manager *m);
const DomainUses *manager_uses(const Manager *m); /* NULL: not known */
char *const *manager_notes(const Manager *m);
bool manager_libvirt_connected(const Manager *m);
