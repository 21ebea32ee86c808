/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fence as the daemon's picture says it. */
#pragma once

#include "core/facts/health.h"
#include "core/fence/fence.h"
#include "core/group/group.h"
#include "core/links/declaration.h"

/* All borrowed. */
typedef struct FenceFacts {
	const GroupSet *groups;
	const GpuSet *gpus;
	const Assignments *assignments;
	const Tenants *tenants; /* NULL: not read */
	const DomainUses *uses; /* NULL: not known */
	const GpuHealth *health;
	size_t n_health;
	const char *boot_id;
	/*
	 * Why the function is quarantined; NULL: it is not. *ret_itself: the quarantine names it, and
	 * not just every function.
	 */
	char *(*quarantine)(const Bdf *function, bool *ret_itself, void *userdata);
	void *userdata;
} FenceFacts;

/* Without generation and time, which the store adds. */
Fence *fence_make(const FenceFacts *facts);
