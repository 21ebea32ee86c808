/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/plan/types.h"

/*
 * The checks of plan_make() that look at functions and their holders; the preflight step repeats
 * them on fresh facts before the first write. Boot VGA, VFs, holders, open vfio fds, foreign
 * overrides and drivers, IOMMU, viability of the IOMMU groups, vfio modules. What counts is in the
 * snapshot and the inspection; the group may be of an older snapshot.
 *
 * A release or unbind is refused for guests and for functions that do not answer only; and where
 * request->live says that the release begins with a detach, one guest may hold them.
 */
int plan_check_functions(const Group *group, const PciSnapshot *snapshot,
			 const Inspection *inspection, const Assignments *assignments,
			 const PlanRequest *request, Problem **ret_problem);
