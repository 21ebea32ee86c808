/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/group/group.h"

/*
 * Every bridge-capable GPU is in exactly one group: declared, inferred, or a set of candidates of
 * one model with PROVENANCE_NONE ("unknown0"). GPUs that cannot be bridged are in none; see
 * board_exclusion(). A declared group is listed even when it names a GPU without NVLink among
 * others, mixed models, an SXM board, or more GPUs than a bridge joins, or when a member is
 * missing. It is then degraded with the reason, and never assignable.
 *
 * A declaration may name one GPU. With policy->single_gpus a GPU is a group of one by itself, if it
 * has nothing that it could be linked to (PROVENANCE_SINGLE).
 *
 * The GPUs that a record of `assignments` names stay one group of that name, unless a declaration
 * says otherwise. Their links decide what the group is. If links no longer join them, the group is
 * degraded, with PROVENANCE_NONE.
 */
GroupSet *groups_resolve(const GpuSet *set, const Declarations *declarations, const Links *links,
			 const Assignments *assignments, const Policy *policy);
