/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The matrix of `nvidia-smi topo -m`, for drivers of every kind. */
#pragma once

#include "base/terminal.h"
#include "topology/model.h"

/* Of its state, here and in the tree. */
Colour topology_colour(const TopologyGpu *gpu);
/* Of a node or an IOMMU group; "-" for none. */
char *topology_number(int number);
void topology_print_matrix(const Terminal *t, const Topology *topology, bool legend);
