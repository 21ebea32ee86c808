/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/group/group.h"

/*
 * The group for a domain that named none: one it has already, otherwise the first free one in
 * natural order of names, of board `model` unless NULL. PROBLEM when there is none, and why.
 */
int plan_choose_group(const GroupSet *groups, const char *domain_uuid, const char *model,
		      const Group **ret, Problem **ret_problem);
