/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture of a host: an SVG that stands alone, the same for the same topology. */
#pragma once

#include <stdio.h>

#include "topology/model.h"

void topology_print_svg(FILE *f, const Topology *topology);
