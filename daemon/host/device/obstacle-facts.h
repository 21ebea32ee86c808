/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What on this host keeps a function from a guest; core/facts/obstacle.h judges it. */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/roots.h"

/*
 * Sets interrupts_known and interrupts_remapped of *into, and of its functions bars_unset,
 * bar_holders and direct_region. A file that is not there tells nothing.
 */
void obstacle_facts_read(const InspectRoots *roots, Inspection *into);
