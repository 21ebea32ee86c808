/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a guest sees its group's GPUs, NICs and NVMes as far apart as the host does, and what NCCL
 * does there because of that. The guest's word: it decides nothing, and makes no evidence of links.
 *
 * NCCL has a NIC read and write a GPU's memory (GPUDirect RDMA) if they are no farther apart than
 * PXB: src/graph/paths.cc, ncclTopoCheckGdr(). Otherwise data goes through the guest's memory.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/facts/health.h"
#include "core/verify/report.h"
#include "core/verify/sight.h"

#define GUEST_SIGHTS(X)                                                                            \
	X(GUEST_SIGHT_UNKNOWN, "unknown") /* it does not say, or not all */                        \
	X(GUEST_SIGHT_OTHER, "other")	  /* two of them have another distance than on the host */ \
	X(GUEST_SIGHT_HOST, "as-host")

DECLARE_ENUM(guest_sight, GuestSight, GUEST_SIGHTS, GUEST_SIGHT_MAX_);

/* Words like "16 GT/s x16", as NCCL reads them: the lesser of a function and its port. */
typedef struct SightMember {
	Bdf address;			  /* on the host */
	Bdf guest_address _json_(if_any); /* all zero: not known */
	char *link _json_(or_null);	  /* in the guest; NULL: not known */
	char *host_link _json_(or_null);  /* NULL: not known */
	/* Likewise of the link that leads up from its switch; NULL: not known, or it has none */
	char *uplink _json_(or_null);
	char *host_uplink _json_(or_null);
} SightMember;
DECLARE_JSON(SightMember, sight_member_members)

/* Words of PCIE_DISTANCES; NULL: not known. */
typedef struct SightPair {
	Bdf a, b; /* on the host */
	char *host;
	char *guest _json_(or_null);
	char *file _json_(or_null); /* as NCCL's file says: NODE is PHB there */
} SightPair;
DECLARE_JSON(SightPair, sight_pair_members)

typedef struct GuestTopology {
	GuestSight state;
	NcclFileState file;
	char *seen;			 /* what the guest sees, one sentence */
	char *file_told _json_(or_null); /* the same of its file for NCCL; NULL: it has none */
	char *nccl _json_(or_null);	 /* what NCCL does; NULL: it has no GPU with a NIC */
	char *remedy _json_(or_null);
	SightMember *members _json_(max 64);
	size_t n_members;
	SightPair *pairs _json_(max 2048); /* each two */
	size_t n_pairs;
} GuestTopology;
DECLARE_FREE(GuestTopology, guest_topology_free)
DECLARE_JSON(GuestTopology, guest_topology_members)

/* All borrowed. */
typedef struct TopologyInput {
	const VerifyInput *verify;
	const PciFunction *const *members; /* as of group_leads() */
	char *const *paths;		   /* of each, domain_xml_guest_path(); NULL: not known */
	size_t n_members;
	size_t n_nodes;		 /* of the host, as of pcie_distance() */
	const GpuHealth *health; /* of some of them; NULL: nobody looked */
	size_t n_health;
	bool mirror; /* it was assigned with the host's topology */
} TopologyInput;

GuestTopology *guest_topology_judge(const TopologyInput *input, const GuestRun runs[SIGHT_RUNS]);
