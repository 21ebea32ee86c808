/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at the machine, and everything derived from it: snapshot, GPUs, groups. Jobs take it for
 * their plan, and the manager takes it for its picture, in the same way.
 */
#pragma once

#include "core/group/group.h"
#include "core/group/rules.h"
#include "core/links/evidence.h"
#include "host/host/questions.h"

/* What we learnt of a board outside sysfs; valid while its address and ids stay the same. */
typedef struct Identity {
	Bdf bdf;
	uint16_t device, subsystem_vendor, subsystem_device;
	char *uuid;
	char *serial_number;
} Identity;
DECLARE_CLEAR(Identity, identity_clear)
DECLARE_COPY(Identity, identity_copy)

typedef struct Identities {
	Identity *items;
	size_t n_items;
	Evidence *evidence _owned_(evidence_unref); /* of their links; NULL: none */
} Identities;
DECLARE_FREE(Identities, identities_free)

/* Groups point into the GPUs, GPUs into the snapshot: they go in this order. */
typedef struct Inventory {
	GroupSet *groups; /* resolved, not observed */
	GpuSet *gpus;
	PciSnapshot *snapshot;
	Identities *identities;
	HostFacts *facts;
} Inventory;

/*
 * Scans, learns the identities that are needed and can be read (UUIDs while the nvidia driver is
 * bound; serial numbers when a declaration names one), and resolves groups. Blocks. `most`: limits
 * what may be read of config space, which has the serial numbers.
 */
int inventory_take(Host *host, const Rules *rules, const Assignments *assignments,
		   const Identities *known, InspectConfig most, Inventory **ret);
/* The same of a snapshot that there is already, which it takes in any case. */
int inventory_derive(Host *host, PciSnapshot *snapshot, const Rules *rules,
		     const Assignments *assignments, const Identities *known, InspectConfig most,
		     Inventory **ret);
/* Its groups by other rules. They borrow from it, and are freed before it. */
GroupSet *inventory_groups(const Inventory *inventory, const Rules *rules,
			   const Assignments *assignments);
/* Takes a snapshot that shares with the present one whatever matters to a GPU. */
void inventory_renew(Inventory *inventory, PciSnapshot *snapshot);
DECLARE_FREE(Inventory, inventory_free)

/* Takes a reference. NULL: there is no evidence of links. */
void identities_set_evidence(Identities *identities, Evidence *evidence);
void identities_copy(const Identities *from, Identities **ret);
