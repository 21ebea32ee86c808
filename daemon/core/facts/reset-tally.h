/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many functions were reset by which method, and with which result: for counting. */
#pragma once

#include <stdint.h>

#include "core/facts/reset-report.h"

/*
 * The kernel's names of its methods (pci_reset_fn_methods[], drivers/pci/pci.c), our own "slot",
 * and two for all else: a worker's text must not become a name of its own in a metric.
 */
#define RESET_METHODS(X)                                                                           \
	X(RESET_METHOD_NONE, "none")                                                               \
	X(RESET_METHOD_FLR, "flr")                                                                 \
	X(RESET_METHOD_AF_FLR, "af_flr")                                                           \
	X(RESET_METHOD_PM, "pm")                                                                   \
	X(RESET_METHOD_BUS, "bus")                                                                 \
	X(RESET_METHOD_CXL_BUS, "cxl_bus")                                                         \
	X(RESET_METHOD_ACPI, "acpi")                                                               \
	X(RESET_METHOD_DEVICE, "device_specific")                                                  \
	X(RESET_METHOD_SLOT, "slot")                                                               \
	X(RESET_METHOD_OTHER, "other")

DECLARE_ENUM(reset_method, ResetMethod, RESET_METHODS, RESET_METHOD_MAX_);

typedef struct ResetTally {
	uint8_t n[RESET_METHOD_MAX_][RESET_RESULT_MAX_];
} ResetTally;

/* A function whose leader's reset covers it counts with that one, and not by itself. */
void reset_tally_add(ResetTally *tally, const ResetReport *report);
