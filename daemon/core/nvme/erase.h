/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Erasing an NVMe between two tenants: which way, for how long, and whether it is done. Decided by
 * what the controller says of itself.
 */
#pragma once

#include "core/nvme/state.h"
#include "core/nvme/use.h"

/*
 * In the order in which they are wanted. A sanitize reaches the whole subsystem, with what no
 * namespace shows, caches and the controller's memory buffer, and goes on over a reset and a loss
 * of power; a format promises its namespaces only. An overwrite is not among them: it wears the
 * media and takes hours, and flash keeps what it does not map.
 */
#define NVME_WAYS(X)                                                                               \
	X(NVME_WAY_NONE, "none")                                                                   \
	X(NVME_WAY_SANITIZE_CRYPTO, "sanitize-crypto")                                             \
	X(NVME_WAY_SANITIZE_BLOCK, "sanitize-block")                                               \
	X(NVME_WAY_FORMAT_CRYPTO, "format-crypto") /* SES 2 */                                     \
	X(NVME_WAY_FORMAT_USER, "format-user")	   /* SES 1 */

DECLARE_ENUM(nvme_way, NvmeWay, NVME_WAYS);

bool nvme_way_is_sanitize(NvmeWay way);

/*
 * The way for this controller; NVME_WAY_NONE with a line for each reason why none is whole. It does
 * not ask whether it may be erased at all: nvme_state_faults().
 */
NvmeWay nvme_erase_choose(const NvmeState *state, char ***reasons);

/*
 * Seconds after which an erase that has not ended is taken for stuck: twice what the controller
 * says, and a margin.
 */
unsigned nvme_erase_limit_sec(const NvmeState *state, NvmeWay way);

#define NVME_ERASE_ENDS(X)                                                                         \
	X(NVME_ERASE_DUE, "due") /* it has not begun, or its end is not known: begin (again) */    \
	X(NVME_ERASE_RUNS, "in progress")                                                          \
	X(NVME_ERASE_DONE, "done")                                                                 \
	X(NVME_ERASE_FAILED, "failed")

DECLARE_ENUM(nvme_erase_end, NvmeEraseEnd, NVME_ERASE_ENDS);

/* What a part says of the erase that it was asked for. */
typedef struct NvmeErase {
	Bdf bdf;
	NvmeWay way _json_(wrong "is none that there is");
	NvmeEraseEnd end _json_(wrong "is none that there is");
	unsigned permille _json_(max 1000); /* of a sanitize in progress */
	char *why _json_(if_any);	    /* failed: a sentence */
} NvmeErase;
DECLARE_CLEAR(NvmeErase, nvme_erase_clear)
DECLARE_JSON(NvmeErase, nvme_erase_members)

/* Of one that is done. What comes back from a tenant is compared with it. */
typedef struct NvmeReceipt {
	NvmeWay way _json_(not_0, wrong "is none that there is");
	uint64_t begun_usec, ended_usec; /* CLOCK_REALTIME */
	NvmeState state;		 /* behind it */
} NvmeReceipt;
DECLARE_CLEAR(NvmeReceipt, nvme_receipt_clear)
DECLARE_COPY(NvmeReceipt, nvme_receipt_copy)
DECLARE_JSON(NvmeReceipt, nvme_receipt_members)

/*
 * Where the erase that was begun is by what the controller says now. Of a format that is only what
 * the command returned: `done` is that it did. A controller that is found idle, and does not say
 * that nothing was written since a sanitize, is erased again: that is harmless, and a tenant's own
 * sanitize, which would look the same, is not taken for ours.
 */
NvmeEraseEnd nvme_erase_judge(const NvmeState *now, NvmeWay way);
unsigned nvme_erase_permille(const NvmeState *now);

/*
 * The driver has set it up, and each namespace that is attached is among its disks: what is not
 * seen cannot be seen to be used. The driver's probe goes on after it has the function
 * (nvme_async_probe(), drivers/nvme/host/pci.c, before 6.2), as does its scan for namespaces.
 * Either may be NULL.
 */
bool nvme_use_is_whole(const NvmeUse *use, const NvmeState *state);

/*
 * A line for each thing by which one that was erased is not as it was then, as far as that can be
 * seen: another device, labels, or a write behind a sanitize. NULL: not known.
 */
void nvme_changes_since(const NvmeReceipt *receipt, const NvmeUse *use, const NvmeState *state,
			char ***lines);
