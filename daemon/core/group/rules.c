/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/rules.h"

#include "util/xalloc.h"

Rules *rules_new(const Policy *policy, Declarations *declarations)
{
	Rules *rules = xcalloc(1, sizeof(Rules));

	atomic_init(&rules->references, 1);
	rules->policy = *policy;
	rules->declarations = declarations;
	return rules;
}

Rules *rules_ref(Rules *rules)
{
	atomic_fetch_add(&rules->references, 1);
	return rules;
}

Rules *rules_unref(Rules *rules)
{
	if (rules && atomic_fetch_sub(&rules->references, 1) == 1) {
		declarations_free(rules->declarations);
		free(rules);
	}
	return NULL;
}
