/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operator's settings that decisions in core/ need. */
#pragma once

#include <stdint.h>

#include "core/domain/use.h"

typedef struct Policy {
	DomainSource domains;	 /* Uri=, and --libvirt-uri */
	bool accept_inferred;	 /* AcceptInferred=: inferred groups may be assigned as they are */
	bool single_gpus;	 /* SingleGpus=: a GPU without a partner is a group by itself */
	char *const *keep_bound; /* KeepBound=: patterns of groups and models; borrowed; or NULL */
	uint64_t device_timeout_usec; /* DeviceTimeoutSec=: for bind and unbind of one function */
	bool allow_mmio;	      /* AllowMmio=: each probe may read link registers */
	bool poll_memory_clear;	      /* PollMemoryClear=: the receipt says if memory was cleared */
	uint64_t probe_timeout_usec;  /* ProbeTimeoutSec=: for NVML to answer */
	uint64_t detach_timeout_usec; /* for a guest to release one function */
} Policy;

#define POLICY_DEFAULT                                                                             \
	((Policy){                                                                                 \
		.domains = DOMAINS_LIBVIRT,                                                        \
		.accept_inferred = false,                                                          \
		.single_gpus = false,                                                              \
		.allow_mmio = false,                                                               \
		.poll_memory_clear = false,                                                        \
		.probe_timeout_usec = 180 * 1000000ULL,                                            \
		.device_timeout_usec = 30 * 1000000ULL,                                            \
		.detach_timeout_usec = 20 * 1000000ULL,                                            \
	})
