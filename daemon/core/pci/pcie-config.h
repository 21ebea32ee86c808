/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function's PCI Express link, ACS and ATS, from the raw bytes of its config space. */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/pcie-speed.h"

#define PCIE_CONFIG_BYTES 4096

/* Device/port types of the PCI Express capability that ACS matters for. */
#define PCIE_TYPE_ENDPOINT 0
#define PCIE_TYPE_ROOT_PORT 4
#define PCIE_TYPE_DOWNSTREAM 6

/*
 * Source validation, request redirect, completion redirect, upstream forwarding. A port needs all
 * of them before the kernel gives the devices behind it an IOMMU group of their own (REQ_ACS_FLAGS
 * in drivers/iommu/iommu.c).
 */
#define PCIE_ACS_NEEDED 0x001dU

/* Bits of the ACS registers (PCI Express Base 5.0, 7.7.8; PCI_ACS_… of linux/pci_regs.h). */
#define PCIE_ACS_BLOCK_TRANSLATED 0x0002U
#define PCIE_ACS_REDIRECT 0x0004U
#define PCIE_ACS_DIRECT_TRANSLATED 0x0040U

typedef struct PcieConfig {
	bool read;			      /* at least the first 64 bytes */
	bool all_ones;			      /* the function does not answer */
	bool pcie;			      /* has the capability; what follows is 0 otherwise */
	unsigned type _json_(max UINT16_MAX); /* PCIE_TYPE_… */
	/* 1: 2.5 GT/s, 2: 5, 3: 8, 4: 16, 5: 32, 6: 64 */
	unsigned speed, speed_max _json_(max UINT16_MAX);
	unsigned width, width_max _json_(max UINT16_MAX); /* lanes */
	bool acs; /* has the capability, and the reader could see it */
	unsigned acs_capability, acs_control _json_(max UINT16_MAX);
	bool ats _json_(if_any);    /* has the capability, and the reader could see it */
	bool ats_on _json_(if_any); /* and uses it */
} PcieConfig;

/* `size` is 64 for a reader who may see no more. Never fails: what is absent stays 0. */
void pcie_config_parse(const uint8_t *bytes, size_t size, PcieConfig *ret);

/* Of a speed's code; "?" for one without a meaning. */
const char *pcie_speed_text(unsigned code);

/* A root or downstream port that can separate the devices behind it, with that turned off. */
bool pcie_acs_is_off(const PcieConfig *config);

/*
 * What a port does with a request to a device below the same switch whose address the sender had
 * translated by the IOMMU before (ATS). Only "direct" lets a NIC reach a GPU's memory at the speed
 * of the switch; the root complex sends back what is redirected.
 */
#define PCIE_TRANSLATEDS(X)                                                                        \
	X(PCIE_TRANSLATED_UNKNOWN, "unknown")	    /* the port was not read */                    \
	X(PCIE_TRANSLATED_DIRECT, "direct")	    /* to the other device */                      \
	X(PCIE_TRANSLATED_REDIRECTED, "redirected") /* to the root complex; it could be direct */  \
	X(PCIE_TRANSLATED_NEVER, "never direct")    /* the same, and the port has no other way */  \
	X(PCIE_TRANSLATED_BLOCKED, "blocked")	    /* it ends with an error */

DECLARE_ENUM(pcie_translated, PcieTranslated, PCIE_TRANSLATEDS, PCIE_TRANSLATED_MAX_);

PcieTranslated pcie_translated(const PcieConfig *port);
