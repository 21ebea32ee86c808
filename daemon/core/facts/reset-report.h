/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of the reset of one function between two tenants, as a worker reports it. */
#pragma once

#include "core/base/json-struct.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

#define RESET_RESULTS(X)                                                                           \
	X(RESET_DONE, "reset")                                                                     \
	X(RESET_NO_METHOD, "no method")		/* the kernel has no method for it; it answers */  \
	X(RESET_WITH_LEAD, "with its leader")	/* the leading function's reset covers it */       \
	X(RESET_REFUSED, "refused")		/* not on vfio, or the reset would hit others */   \
	X(RESET_FAILED, "failed")		/* the kernel reported an error */                 \
	X(RESET_SILENT, "does not answer")	/* config space reads all ones, before or after */ \
	X(RESET_LINK_WORSE, "link is worse")	/* slower or narrower than before */               \
	X(RESET_UNKNOWN, "result is not known") /* the worker died or did not answer */

DECLARE_ENUM(reset_result, ResetResult, RESET_RESULTS, RESET_RESULT_MAX_);

/* One look at the function. It has no link without PCIe, or when config space is cut short. */
typedef struct ResetLook {
	char *link_speed _json_(if_any); /* "16 GT/s"; NULL: not known */
	unsigned link_width _json_(if_any);
	char *power_state _json_(if_any); /* "D0", "D3hot"; NULL: not known */
} ResetLook;
DECLARE_CLEAR(ResetLook, reset_look_clear)
DECLARE_JSON(ResetLook, reset_look_members)

typedef struct ResetReport {
	Bdf bdf _json_(as "address");
	ResetResult result _json_(wrong "is none that there is");
	int error _json_(errno);     /* -errno with failed, refused and unknown; otherwise 0 */
	char *method _json_(if_any); /* the kernel's name, "flr"; NULL: none was used */
	ResetLook before, after;
} ResetReport;
DECLARE_CLEAR(ResetReport, reset_report_clear)
DECLARE_JSON(ResetReport, reset_report_members)

/*
 * false for "pm", which takes the device to D3hot and back: it resets less than a function-level or
 * a bus reset (pci_pm_reset(), drivers/pci/pci.c), and NVIDIA promises nothing of it. Between two
 * tenants it is no reset.
 */
bool reset_method_counts(const char *method);

/* Nothing is wrong. That does not mean that the board was reset: without a method nothing was. */
bool reset_result_is_good(ResetResult result);

/* `before` had a faster or wider link. What is unknown on one side is no difference. */
bool reset_link_is_worse(const ResetLook *before, const ResetLook *after);

/* "0000:41:00.0: failed (flr): Input/output error" */
char *reset_report_text(const ResetReport *report);

/* ---- how many functions were reset by which method, and with which result ---- */

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
