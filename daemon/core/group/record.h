/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/group/group.h"

/*
 * The record by which the group is assigned; NULL: none. `functions` are the group's.
 *
 * A record that names one of its functions comes first. A record that has only the group's name
 * counts only when no group has any of that record's functions, because the boards are gone. If a
 * group has them, the record is that group's: names of undeclared groups may shift when boards come
 * and go.
 */
const Assignment *group_record(const Group *group, const PciFunction *const *functions, size_t n,
			       const GroupSet *groups, const Assignments *assignments);
