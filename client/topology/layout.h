/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things go in the picture of a host: a panel for each NUMA node; in it rows of cards, one
 * a GPU, the bridges above it as bars, and below it the rail of its NVLink group. GPUs of one
 * group are side by side where they can be. Numbers are pixels; the same topology gives the same
 * layout.
 */
#pragma once

#include "topology/layout-parts.h"

Layout *layout_new(const Topology *topology);
DECLARE_FREE(Layout, layout_free)
