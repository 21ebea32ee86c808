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
	Policy policy _borrowed_; /* of a configuration */
	Declarations *declarations;
	atomic_uint shared; /* references beside the first */
} Rules;

/* Takes the declarations. */
Rules *rules_new(const Policy *policy, Declarations *declarations);
DECLARE_REF(Rules, rules_ref)
DECLARE_FREE(Rules, rules_unref)
