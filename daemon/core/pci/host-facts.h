/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest has to fit into: NUMA nodes, memory, huge pages, processor, kernel. host/scan/
 * fit-facts fills it. What could not be read is 0 or NULL, and nothing follows from that.
 */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* The most CPUs that a set can hold; the largest NR_CPUS of the kernel. */
#define HOST_CPUS_MAX 8192

typedef struct CpuSet {
	uint64_t bits[HOST_CPUS_MAX / 64];
} CpuSet;

/* A pool of huge pages of one size. */
typedef struct HugePool {
	uint64_t page_bytes;
	uint64_t total, free; /* pages */
} HugePool;

typedef struct HostNode {
	unsigned node;
	char *cpus; /* as the kernel writes it, "0-31,64-95"; "": the node has memory only */
	uint64_t memory_bytes; /* 0: not known, or it has CPUs only */
	uint64_t free_bytes;
	HugePool *pools;
	size_t n_pools;
} HostNode;

#define CPU_VENDORS(X)                                                                             \
	X(CPU_VENDOR_UNKNOWN, "unknown")                                                           \
	X(CPU_VENDOR_INTEL, "intel")                                                               \
	X(CPU_VENDOR_AMD, "amd")                                                                   \
	X(CPU_VENDOR_ARM, "arm") /* whoever made it */

NAMED_ENUM(CpuVendor, CPU_VENDORS);

/* Whether the firmware describes an IOMMU of the processor's maker: the ACPI table DMAR or IVRS. */
#define IOMMU_TABLES(X)                                                                            \
	X(IOMMU_TABLE_UNKNOWN, "unknown")                                                          \
	X(IOMMU_TABLE_NONE, "none")                                                                \
	X(IOMMU_TABLE_THERE, "there")

NAMED_ENUM(IommuTable, IOMMU_TABLES);

typedef struct HostFacts {
	char *name;		/* the host's own */
	unsigned physical_bits; /* of an address; 0: not known */
	CpuVendor cpu_vendor;
	bool virtual_machine; /* this host itself runs on a hypervisor */
	IommuTable iommu_table;
	char **iommu_words; /* of the kernel command line: "intel_iommu=on"; NULL: none */
	unsigned kernel_major,
		kernel_minor; /* of the running kernel, 6 and 1; 0 and 0: not known */
	HostNode *nodes;      /* by number; none: a kernel without NUMA, or not known */
	size_t n_nodes;
	uint64_t memory_bytes;
	/* As libvirt counts, 9.0.0 is 9000000: its daemon's and the hypervisor's; 0: not known. */
	uint64_t libvirt_version, hypervisor_version;
} HostFacts;

#define LIBVIRT_VERSION(major, minor) (UINT64_C(1000000) * (major) + UINT64_C(1000) * (minor))
/* <maxphysaddr>; hooks in /etc/libvirt/hooks/qemu.d (libvirt's news of these versions). */
#define LIBVIRT_MAXPHYSADDR LIBVIRT_VERSION(8, 7)
#define LIBVIRT_HOOK_FOLDER LIBVIRT_VERSION(6, 5)

/* Its version is not known, or not below this one. `facts` may be NULL. */
bool host_facts_libvirt_has(const HostFacts *facts, uint64_t version);
/* Its version is known, and below this one. `facts` may be NULL. */
bool host_facts_kernel_before(const HostFacts *facts, unsigned major, unsigned minor);
/* "9.0.0" */
char *libvirt_version_text(uint64_t version);

/* NULL when absent; `facts` may be NULL. */
const HostNode *host_facts_node(const HostFacts *facts, int node);
DECLARE_FREE(HostFacts, host_facts_free)

/* "0-31,64-95"; libvirt's "^3" removes one again. -EINVAL, or -ERANGE above HOST_CPUS_MAX. */
int cpu_set_parse(const char *text, CpuSet *ret);
bool cpu_set_has(const CpuSet *set, unsigned cpu);
unsigned cpu_set_count(const CpuSet *set);
/* Every CPU of `part` is in `whole`. */
bool cpu_set_within(const CpuSet *part, const CpuSet *whole);
