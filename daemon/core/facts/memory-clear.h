/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a board says that it has cleared its memory since a bus reset. Chips, registers and
 * values are those of NVIDIA's gpu-admin-tools (wait_for_memory_clear(), wait_for_boot()), which
 * expects a secondary bus reset before. Not tried on hardware.
 */
#pragma once

#include <stdint.h>

#include "core/base/json-struct.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

#define MEMORY_CLEARS(X)                                                                           \
	X(MEMORY_NOT_KNOWN, "not known")                                                           \
	X(MEMORY_CLEARED, "cleared")                                                               \
	X(MEMORY_NOT_CLEARED, "not cleared") /* its register did not say so in time */

DECLARE_ENUM(memory_clear, MemoryClear, MEMORY_CLEARS, MEMORY_CLEAR_MAX_);

typedef struct MemoryReport {
	Bdf bdf _json_(as "address");
	MemoryClear state;
	char *why _json_(if_any); /* not known: a sentence; otherwise NULL */
} MemoryReport;
DECLARE_JSON(MemoryReport, memory_report_members)
DECLARE_CLEAR(MemoryReport, memory_report_clear)

/* Offsets in BAR 0. */
typedef struct MemoryRegisters {
	uint32_t boot, booted; /* where firmware says that it has booted, and what it then reads */
	uint32_t clear;	       /* reads MEMORY_CLEAR_DONE once memory is cleared */
} MemoryRegisters;

#define MEMORY_CLEAR_DONE 1U

/* `device` is the PCI id, boot_0 the register PMC_BOOT_0. false: of this chip nothing is known. */
bool memory_registers(uint16_t device, uint32_t boot_0, MemoryRegisters *ret);

/* All ones, or 0xbad…: asleep, off the bus, or not for this reader. */
bool memory_unreadable(uint32_t value);

/* A reset by this method is one after which the register is known to speak. */
bool memory_method_clears(const char *method);
