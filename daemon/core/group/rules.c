/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/rules.h"

#include "util/xalloc.h"

Rules *rules_new(const Policy *policy, Declarations *declarations)
{
	Rules *rules = xcalloc(1, sizeof(Rules));

	rules->policy = *policy;
	rules->declarations = declarations;
	return rules;
}

#include "rules.inc"
