/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of the reset of one function between two tenants, as a worker reports it. */
#pragma once

#include <stdbool.h>

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
	char *link_speed; /* "16 GT/s"; NULL: not known */
	unsigned link_width;
	char *power_state; /* "D0", "D3hot"; NULL: not known */
} ResetLook;

typedef struct ResetReport {
	Bdf bdf;
	ResetResult result;
	int error;    /* -errno with failed, refused and unknown; otherwise 0 */
	char *method; /* the kernel's name, "flr"; NULL: none was used */
	ResetLook before, after;
} ResetReport;

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

extern const JsonMember reset_report_members[];
json_t *reset_report_to_json(const ResetReport *report);
/* Strict. -EBADMSG leaves *ret untouched. */
int reset_report_from_json(const json_t *json, ResetReport *ret);

void reset_look_clear(ResetLook *look);
void reset_report_clear(ResetReport *report);
