/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evidence that two GPUs are NVLink-bridged. Every way of knowing yields links of this one form;
 * groups are made from links alone (group.h). Declarations and inference are here; probes (NVML,
 * registers, the guest) add links of their provenance.
 */
#pragma once

#include "core/declaration.h"
#include "gpupass/states.h"

DECLARE_STRING_TABLE(provenance, Provenance);

typedef struct Link {
	Bdf a, b; /* leading functions, a < b */
	Provenance provenance;
	unsigned count;		/* active NVLinks between the two; 0: not known */
	uint64_t observed_usec; /* CLOCK_REALTIME; 0: not an observation */
	char *group_name;	/* a declaration's name; NULL otherwise */
	char *source;		/* "groups.d/pair0.conf:1", "sysfs"; where it comes from */
	char *reasoning;	/* one sentence; NULL for declarations */
} Link;

typedef struct Links {
	Link *items;
	size_t n_items;
} Links;

/* A declaration whose members cannot all be found yields no link but one line in *notes. */
int links_from_declarations(Links *into, const Declarations *declarations, const GpuSet *set,
			    char ***notes);

/*
 * Infers the one pairing that sysfs leaves possible, over the GPUs that no declaration names:
 * exactly two bridge-capable boards of one model and subsystem. Never by adjacency; never where a
 * second pairing could be; never beside an NVSwitch.
 */
int links_infer(Links *into, const GpuSet *set);

Links *links_free(Links *links);
DEFINE_CLEANUP(Links, links_free)
