/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/group/group.h"

/*
 * The record that the group is assigned by; NULL: none. `functions` are the group's.
 *
 * A record of one of its functions comes first. A record of its name counts only when no group has any
 * of the record's functions, because the boards are gone. Otherwise it is the record of the group that
 * has them: the names of undeclared groups may shift when boards come and go.
 */
const Assignment *group_record(const Group *group, const PciFunction *const *functions, size_t n,
			       const GroupSet *groups, const Assignments *assignments);
