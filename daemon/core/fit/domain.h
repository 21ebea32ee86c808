/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a domain's XML says about the size of its guest and about its place on the host. */
#pragma once

#include "core/domain/xml-tune.h"
#include "core/pci/host-facts.h"

typedef enum Firmware {
	FIRMWARE_SEABIOS,
	FIRMWARE_OVMF,
	FIRMWARE_OTHER,
} Firmware;

typedef struct FitDomain {
	const char *name; /* borrowed */
	Firmware firmware;
	bool pcie, hugepages;
	uint64_t memory_bytes;	   /* at its start; vfio pins all of it; 0: not given */
	uint64_t memory_max_bytes; /* including what can be hotplugged */
	uint64_t hard_limit_bytes; /* <memtune>; 0: none */
	uint64_t page_bytes;	   /* of the first <page>; 0: the host's default */
	unsigned vcpus;
	bool kvm;      /* its processor has the host's vendor */
	bool has_cpu;  /* a <cpu> with a mode: it can take a <maxphysaddr> */
	bool cpu_host; /* host-passthrough or maximum: the host's address width */
	bool has_maxphysaddr;
	bool bits_of_host;	 /* <maxphysaddr mode='passthrough'/> */
	unsigned bits, bits_max; /* bits= and limit= of <maxphysaddr>; 0: not given */
	uint64_t mmio_mb;	 /* the firmware's window, set by fw_cfg; 0: not set */
	bool viommu, clique;
	char *security;	     /* type of <launchSecurity>, "sev-snp"; NULL: it has none */
	unsigned n_hostdevs; /* PCI */
	char *nodeset;	     /* of <numatune>; NULL: its memory may be anywhere */
	bool memory_auto, cpus_auto;
	bool cpus_bound; /* cpuset or vcpupin */
	CpuSet cpus;	 /* the CPUs of all its vCPUs together */
} FitDomain;

/* A value that cannot be parsed counts as absent. */
FitDomain fit_domain_read(const DomainXml *xml);
DECLARE_CLEAR(FitDomain, fit_domain_clear)

/* The guest's address width in bits; 0: it has the host's, which is not known. */
unsigned fit_domain_bits(const FitDomain *domain, const HostFacts *host);
