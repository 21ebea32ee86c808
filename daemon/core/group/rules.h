/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operator's rules: policy and declared groups. They are immutable once made, and shared by
 * reference count. So a job keeps the rules that it started with while new ones replace them.
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

/* Takes the declarations. */
Rules *rules_new(const Policy *policy, Declarations *declarations);
Rules *rules_ref(Rules *rules);
Rules *rules_unref(Rules *rules);
DEFINE_CLEANUP(Rules, rules_unref)
