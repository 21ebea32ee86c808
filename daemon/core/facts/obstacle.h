/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host tells of a guest's start that will fail. The only judge of it: a plan refuses or
 * warns by what it finds, and doctor reports the same, in the same words. Pure: from an inspection
 * and facts of the host. What is not known is no obstacle.
 */
#pragma once

#include "core/facts/inspection.h"
#include "core/pci/host-facts.h"
#include "core/pci/pci-snapshot.h"

typedef enum ObstacleKind {
	OBSTACLE_INTERRUPTS, /* of the host, and of no function */
	OBSTACLE_BAR,
	OBSTACLE_FRAMEBUFFER,
	OBSTACLE_REGION,
	OBSTACLE_KIND_MAX_,
} ObstacleKind;

typedef enum ObstacleWeight {
	OBSTACLE_WARNS,
	OBSTACLE_FAILS,	  /* doctor fails, a plan warns */
	OBSTACLE_REFUSES, /* doctor fails, a plan is refused */
} ObstacleWeight;

typedef struct Obstacle {
	ObstacleKind kind;
	ObstacleWeight weight;
	Bdf bdf;    /* of OBSTACLE_INTERRUPTS all zero */
	char *what; /* one sentence, without a full stop */
	char *remedy;
} Obstacle;

typedef struct Obstacles {
	Obstacle *items;
	size_t n_items;
	bool unknown[OBSTACLE_KIND_MAX_]; /* not all that tells of this kind was read */
} Obstacles;
DECLARE_CLEAR(Obstacles, obstacles_clear)

/* For these functions, which a guest has or is to get. `host` NULL: not known. */
Obstacles obstacles_find(const PciFunction *const *functions, size_t n,
			 const Inspection *inspection, const HostFacts *host);

/* What to do where the kernel has no IOMMU groups. `host` NULL: not known. */
char *obstacle_iommu_remedy(const HostFacts *host);
