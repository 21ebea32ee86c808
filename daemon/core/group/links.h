/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two steps of groups_resolve(): groups of records, and groups of observed links. */
#pragma once

#include "core/group/resolver.h"

/*
 * What is assigned stays one group under its name, whatever becomes of the evidence: the operator
 * releases it by that name, and nobody else may get its GPUs. Links out of it contradict it.
 */
void group_resolve_recorded(Resolver *r);
/* The connected parts that observed links make of the GPUs that are in no group yet. */
void group_resolve_observed(Resolver *r);
