/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NVLink catalogue: what each NVIDIA board can do, by PCI device id. A bridge is passive and
 * invisible on PCI. So sysfs alone, with this table, gives candidates and exclusions, but never a
 * pairing. Sources: pci.ids, NVIDIA open-gpu-kernel-modules 595.45.04, NVIDIA gpu-admin-tools. Rows
 * that only pci.ids supports are marked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpupass/string-table.h"

#define NVLINK_KINDS(X)                                                                            \
	X(NVLINK_UNKNOWN, "unknown") /* not in the catalogue */                                    \
	X(NVLINK_NONE, "none")	     /* the board has no NVLink */                                 \
	X(NVLINK_BRIDGE, "bridge")   /* a PCIe board with a bridge connector */                    \
	X(NVLINK_SXM, "sxm")	     /* SXM, superchip: Fabric Manager rules here */

DECLARE_ENUM(nvlink_kind, NvlinkKind, NVLINK_KINDS, NVLINK_KIND_MAX_);

typedef struct Board {
	const char *name; /* short: "RTX A6000" */
	const char *note; /* why there is no NVLink, or a caveat; may be NULL */
	NvlinkKind kind;
	uint32_t link_mbps; /* MB/s per link, both directions together; 0: not known */
	uint16_t device;
	uint8_t generation; /* NVLink generation; 0 unless a bridge board */
	uint8_t links;	    /* links between the GPUs of a fully bridged pair; 0: not known */
	uint8_t group_size; /* the most GPUs that one bridge joins: 2 or 4 */
} Board;

/*
 * NULL when nothing is known of the id. A board with device 0 stands for a chip without NVLink: the
 * catalogue does not know the very board.
 */
const Board *board_find(uint16_t vendor, uint16_t device, uint16_t subsystem_device);

/*
 * The chip of such a board has NVLink, or is not known: whatever the catalogue says of the board,
 * only a look at it tells that no bridge is on it.
 */
bool board_may_be_bridged(uint16_t vendor, uint16_t device);

/* One sentence on why this board cannot be grouped; NULL when it can. `board` may be NULL. */
const char *board_exclusion(const Board *board);

/*
 * The most that PCIe carries to the board in one direction, in MB/s: 16 lanes of the generation
 * that its family has. 0: not known. `board` may be NULL.
 */
uint32_t board_pcie_mbps(const Board *board);

/* Its chip is older than Turing's, which have MSI-X where these have room for a capability. */
bool board_before_turing(uint16_t device);
/*
 * A board that is sold for data centres or workstations. False: one for games or for mining, or its
 * name is not known. `board` may be NULL.
 */
bool board_is_professional(const Board *board);

/* For tests: the catalogue itself. */
const Board *board_table(size_t *ret_n);
