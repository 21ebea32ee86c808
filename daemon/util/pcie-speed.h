/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Speeds of PCI Express, by the codes of its link registers: 1 is 2.5 GT/s. 0: not known. */
#pragma once

#include "gpupass/cleanup.h"

/* "16 GT/s"; NULL: no such code. */
const char *pcie_speed_name(unsigned code);
/* Of that, or of sysfs' and NCCL's "16.0 GT/s PCIe". 0: it is none. */
unsigned pcie_speed_code(const char *text);

/* The most that a link can do. */
typedef struct PcieLink {
	unsigned speed, width; /* a code, and lanes; 0: not known */
} PcieLink;

/* What a device and the port above it can do. A port that is not known limits nothing. */
PcieLink pcie_link_least(PcieLink own, PcieLink port);
