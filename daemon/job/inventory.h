/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at the machine with everything derived from it: snapshot, GPUs, groups. Taken by jobs
 * for their plan and by the manager for its picture, in the same way.
 */
#pragma once

#include "core/group/group.h"
#include "core/group/rules.h"
#include "core/links/evidence.h"
#include "host/host/host.h"

/* What was learnt of a board outside sysfs; kept while address and ids stay the same. */
typedef struct Identity {
	Bdf bdf;
	uint16_t device, subsystem_vendor, subsystem_device;
	char *uuid;
	char *serial_number;
} Identity;

typedef struct Identities {
	Identity *items;
	size_t n_items;
	Evidence *evidence; /* what was seen of their links; owned; NULL: nothing */
} Identities;

typedef struct Inventory {
	PciSnapshot *snapshot;
	GpuSet *gpus;
	GroupSet *groups; /* resolved, not observed */
	Identities *identities;
	HostFacts *facts;
} Inventory;

/*
 * Scans, learns identities that are asked for and can be had (UUIDs while the nvidia driver is
 * bound; serial numbers when a declaration names one), and resolves groups. Blocks. `most`: the
 * most that may be read of config space, where serial numbers are.
 */
int inventory_take(Host *host, const Rules *rules, const Assignments *assignments,
		   const Identities *known, InspectConfig most, Inventory **ret);
Inventory *inventory_free(Inventory *inventory);
DEFINE_CLEANUP(Inventory, inventory_free)

/* Takes a reference; NULL: nothing is known of links. */
void identities_set_evidence(Identities *identities, Evidence *evidence);
int identities_copy(const Identities *from, Identities **ret);
Identities *identities_free(Identities *identities);
DEFINE_CLEANUP(Identities, identities_free)
