/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the hook reads, and what it decides by that. */
#pragma once

#include "core/base/problem.h"

typedef struct HookPlace {
	const char *state_dir; /* has fence.json */
	const char *sysfs_dir;
	const char *boot_id_file;
} HookPlace;

/*
 * May the domain of this XML start? 0 or PROBLEM; -errno, too, means that it may not. Opens no file
 * for a domain that names no function of the host. *ret_note: what could not be judged, which does
 * not keep it from starting; NULL: nothing. Caller frees.
 */
int hook_decide(const HookPlace *place, const char *xml, char **ret_note, Problem **ret_problem);

/* Of fence.json: far more than the largest host needs. */
#define HOOK_FENCE_MAX (4U * 1024 * 1024)
