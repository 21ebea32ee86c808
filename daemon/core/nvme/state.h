/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an NVMe controller says of itself: what it is, what a tenant may have changed on it, and how
 * far an erase is. A part asks it (host/nvme); which way of erasing is chosen, and whether it is
 * done, is erase.h's.
 */
#pragma once

#include <stdint.h>

#include "core/base/json-struct.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"
#include "util/text.h"

/* As many as one list of them has; more are not known, and so refused. */
#define NVME_NAMESPACES_MAX 1024

/* TCG's level 0 discovery, feature "Locking". */
#define NVME_LOCKS(X)                                                                              \
	X(NVME_LOCK_UNKNOWN, "unknown")                                                            \
	X(NVME_LOCK_NONE, "none")	/* the controller has no such lock */                      \
	X(NVME_LOCK_OFF, "off")		/* not enabled; whether somebody owns it is not known */   \
	X(NVME_LOCK_ENABLED, "enabled") /* open now, and locked after power was off */             \
	X(NVME_LOCK_LOCKED, "locked")

DECLARE_ENUM(nvme_lock, NvmeLock, NVME_LOCKS);

/* SSTAT of the log page "Sanitize Status". */
#define NVME_SANITIZES(X)                                                                          \
	X(NVME_SANITIZE_UNKNOWN, "unknown")                                                        \
	X(NVME_SANITIZE_NONE, "none") /* it cannot, or never did */                                \
	X(NVME_SANITIZE_DONE, "done")                                                              \
	X(NVME_SANITIZE_RUNS, "in progress")                                                       \
	X(NVME_SANITIZE_FAILED, "failed")

DECLARE_ENUM(nvme_sanitize, NvmeSanitize, NVME_SANITIZES);

typedef struct NvmeNamespace {
	uint32_t id;
	bool attached; /* to this controller; others have no block device */
	bool write_protected _json_(if_any);
	bool shared _json_(if_any);		 /* other controllers may reach it */
	uint64_t blocks;			 /* NSZE */
	unsigned format _json_(max 63);		 /* of its LBA formats, the one in use */
	unsigned format_percent _json_(max 100); /* of a format in progress that is left; 0: none */
} NvmeNamespace;
DECLARE_JSON(NvmeNamespace, nvme_namespace_members)

/* 0: the controller gives no time. */
typedef struct NvmeEstimates {
	uint32_t crypto_sec, block_sec;
} NvmeEstimates;
DECLARE_JSON(NvmeEstimates, nvme_estimates_members)

typedef struct NvmeState {
	Bdf bdf;
	char *model _json_(plain, if_any);
	char *serial _json_(plain, if_any);
	char *firmware _json_(plain, if_any);
	char **firmware_slots;		      /* "1: EDA53W0Q" */
	unsigned firmware_next _json_(max 7); /* the slot that the next reset activates; 0: none */
	bool shared;			      /* CMIC: of several ports, controllers or functions */
	/* Which ways it has: SANICAP, OACS and FNA. */
	bool sanitizes_crypto, sanitizes_block, formats, formats_crypto;
	bool erases_all; /* a format that erases reaches all namespaces, attached or not */
	bool has_free;	 /* UNVMCAP: a part of it is in no namespace */
	unsigned critical_warning _json_(max UINT8_MAX); /* of SMART: its bits */
	unsigned used_percent _json_(max UINT8_MAX);
	NvmeLock lock _json_(wrong "is none that there is");
	NvmeSanitize sanitize _json_(wrong "is none that there is");
	uint16_t sanitize_progress; /* of 65536 */
	bool erased;		    /* since the last sanitize nobody has written anything */
	NvmeEstimates estimates;
	NvmeNamespace *namespaces _json_(max NVME_NAMESPACES_MAX);
	size_t n_namespaces;
	char **unread; /* what it did not say, and so is not known */
} NvmeState;
DECLARE_CLEAR(NvmeState, nvme_state_clear)
DECLARE_COPY(NvmeState, nvme_state_copy)
DECLARE_JSON(NvmeState, nvme_state_members)

DECLARE_FIND(NvmeState, nvme_state_find)

/* A line for each reason for which nobody may have it: a lock, a warning of SMART, … */
void nvme_state_faults(const NvmeState *state, char ***lines);

/*
 * A line for each thing that a tenant has changed: another device is there, firmware, namespaces.
 */
void nvme_state_differences(const NvmeState *before, const NvmeState *after, char ***lines);

/*
 * Of what Security Receive gives for protocol 1, ComID 1: the descriptors of TCG's Storage
 * Architecture Core Specification, 3.3.6, "Level 0 Discovery".
 */
NvmeLock nvme_lock_parse(const uint8_t *data, size_t size);
