/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/plan/types.h"

/*
 * The checks of plan_make() on functions and their holders: boot VGA, VFs, holders, open vfio fds,
 * nvidia_drm, foreign overrides and drivers, IOMMU, viability of the IOMMU groups, vfio modules.
 * The preflight step repeats them on fresh facts before the first write. Snapshot and inspection
 * count; the group may be of an older snapshot.
 * `host` only words a remedy; NULL: not known.
 *
 * Only guests, and functions that do not answer, make it refuse a release or unbind. If
 * request->live says that the release starts with a detach, one guest may hold the functions.
 */
int plan_check_functions(const Group *group, const PciSnapshot *snapshot,
			 const Inspection *inspection, const Assignments *assignments,
			 const HostFacts *host, const PlanRequest *request, Problem **ret_problem);
