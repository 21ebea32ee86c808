/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole model of the host as one JSON document (schema org.gpupass1.topology/1): NUMA nodes,
 * bridges, GPUs with their functions, IOMMU groups, groups with their evidence and holders, and the
 * PCIe distance and NVLinks of each pair of GPUs. The D-Bus method GetTopology returns it, and
 * `gpupass topology` draws from nothing else.
 */
#pragma once

#include "core/domain/use.h"
#include "core/facts/health.h"
#include "core/group/group.h"
#include "core/pci/host-facts.h"

typedef struct TopologyFacts {
	const PciSnapshot *snapshot;
	const GpuSet *gpus;
	const GroupSet *groups;	  /* observed */
	const DomainUses *uses;	  /* NULL: not known */
	const HostFacts *host;	  /* NULL: not known */
	const GpuHealth *healths; /* which have the links of GPUs, and of the ports above */
	size_t n_healths;
} TopologyFacts;

char *topology_to_json(const TopologyFacts *facts);
