/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a guest sees its group's GPUs, NICs and NVMes as far apart as the host does, and what
 * NCCL does there because of that. The guest's word: it decides nothing, and makes no evidence of
 * links.
 *
 * NCCL has a NIC read and write a GPU's memory (GPUDirect RDMA) if they are no farther apart than
 * PXB: src/graph/paths.cc, ncclTopoCheckGdr(). Otherwise data goes through the guest's memory.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/domain/use.h"
#include "core/facts/health.h"
#include "core/verify/report.h"
#include "core/verify/sight.h"

#define GUEST_SIGHTS(X)                                                                            \
	X(GUEST_SIGHT_UNKNOWN, "unknown") /* it does not say, or not all */                        \
	X(GUEST_SIGHT_OTHER, "other")	  /* two of them have another distance than on the host */ \
	X(GUEST_SIGHT_HOST, "as-host")

DECLARE_ENUM(guest_sight, GuestSight, GUEST_SIGHTS, GUEST_SIGHT_MAX_);

typedef struct GuestTopology {
	GuestSight state;
	NcclFileState file;
	char *seen;			 /* what the guest sees, one sentence */
	char *file_told _json_(or_null); /* the same of its file for NCCL; NULL: it has none */
	char *nccl _json_(or_null);	 /* what NCCL does; NULL: it has no GPU with a NIC */
	char *remedy _json_(or_null);
} GuestTopology;
DECLARE_FREE(GuestTopology, guest_topology_free)
DECLARE_JSON(GuestTopology, guest_topology_members)

/* All borrowed. */
typedef struct TopologyInput {
	const VerifyInput *verify;
	const PciFunction *const *members; /* as of group_leads() */
	size_t n_members;
	const DomainUse *use;	 /* of the running domain */
	size_t n_nodes;		 /* of the host, as of pcie_distance() */
	const GpuHealth *health; /* of some of them; NULL: nobody looked */
	size_t n_health;
	bool mirror; /* it was assigned with the host's topology */
} TopologyInput;

GuestTopology *guest_topology_judge(const TopologyInput *input, const GuestRun runs[SIGHT_RUNS]);
