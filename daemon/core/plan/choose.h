/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/group/group.h"

/*
 * The group for a request that named none: the one that the domain has already, otherwise the first
 * free one in natural order of names. `model`: only groups of this board; NULL: any. PROBLEM when
 * there is none, with the reason.
 */
int plan_choose_group(const GroupSet *groups, const char *domain_uuid, const char *model,
		      const Group **ret, Problem **ret_problem);
