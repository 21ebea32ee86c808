/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/group/group.h"

/*
 * Every bridge-capable GPU is in exactly one group: declared, inferred, or a set of candidates
 * of one model with PROVENANCE_NONE ("unknown0"). GPUs that cannot be bridged are in none; see
 * board_exclusion(). A declared group that names a GPU without NVLink, mixed models, an SXM
 * board, or more GPUs than a bridge ties is still listed: state degraded with the reason, never
 * assignable. So is one with a missing member.
 *
 * What a record of `assignments` names stays one group of that name, if no declaration says
 * otherwise: as its links say, or, where they do not tie it together any more, degraded with
 * PROVENANCE_NONE.
 */
int groups_resolve(const GpuSet *set, const Declarations *declarations, const Links *links,
		   const Assignments *assignments, GroupSet **ret);
