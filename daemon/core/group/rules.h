/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the operator has laid down: policy and declared groups. Immutable once made and shared by
 * reference count, so that a job keeps the rules it was started under while they are replaced.
 */
#pragma once

#include <stdatomic.h>

#include "core/group/policy.h"
#include "core/links/declaration.h"

typedef struct Rules {
	atomic_uint references;
	Policy policy;
	Declarations *declarations;
} Rules;

/* Takes the declarations over, also on failure. */
int rules_new(const Policy *policy, Declarations *declarations, Rules **ret);
Rules *rules_ref(Rules *rules);
Rules *rules_unref(Rules *rules);
DEFINE_CLEANUP(Rules, rules_unref)
