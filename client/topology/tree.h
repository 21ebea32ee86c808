/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NUMA nodes, the bridges below them, the GPUs below those, and which of them are linked. */
#pragma once

#include "base/terminal.h"
#include "topology/model.h"

void topology_print_tree(const Terminal *t, const Topology *topology, bool headings);
