/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a domain's XML says how large and where its guest is. */
#pragma once

#include "core/domain/xml-tune.h"
#include "core/pci/host-facts.h"

typedef enum Firmware { FIRMWARE_SEABIOS, FIRMWARE_OVMF, FIRMWARE_OTHER } Firmware;

typedef struct FitDomain {
	const char *name; /* borrowed */
	Firmware firmware;
	bool pcie;
	uint64_t memory_bytes;	   /* at its start, all of which vfio pins; 0: not told */
	uint64_t memory_max_bytes; /* with what can be plugged in */
	uint64_t hard_limit_bytes; /* <memtune>; 0: none */
	bool hugepages;
	uint64_t page_bytes; /* of the first <page>; 0: the host's default */
	unsigned vcpus;
	bool has_cpu;  /* a <cpu> with a mode, which can take a <maxphysaddr> */
	bool cpu_host; /* host-passthrough or maximum: has the host's width of addresses */
	bool has_maxphysaddr;
	bool bits_of_host;	 /* <maxphysaddr mode='passthrough'/> */
	unsigned bits, bits_max; /* emulated; limit of the host's; 0: not told */
	uint64_t mmio_mb;	 /* of the firmware's window, by fw_cfg; 0: its own */
	bool viommu;
	unsigned n_hostdevs; /* PCI */
	bool clique;
	char *nodeset; /* of <numatune><memory>; NULL: none */
	bool memory_auto, cpus_auto;
	bool cpus_bound; /* cpuset or vcpupin */
	CpuSet cpus;	 /* all of them together */
} FitDomain;

/* What cannot be read is as if it were not there. -ENOMEM */
int fit_domain_read(const DomainXml *xml, FitDomain *ret);
void fit_domain_clear(FitDomain *domain);

/* Width of the guest's addresses; 0 where it is the host's, and that is not known. */
unsigned fit_domain_bits(const FitDomain *domain, const HostFacts *host);
