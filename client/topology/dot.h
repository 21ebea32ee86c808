/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host for Graphviz: clusters for NUMA nodes and domains, bridges, NVLinks. */
#pragma once

#include <stdio.h>

#include "topology/model.h"

void topology_print_dot(FILE *f, const Topology *topology);
