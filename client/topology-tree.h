/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `topology --format=tree`: NUMA nodes, the bridges on the way, and the GPUs behind them. */
#pragma once

#include "model.h"

int topology_print_tree(Client *c, const World *w);
