/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What joins the cards of a layout: bridges above them, NVLinks below. */
#pragma once

#include "topology/layout-parts.h"

/* Rails and lanes of each row, and trunks. Needs x of all cards; sets the rows' lanes. -ENOMEM */
int layout_rails(Layout *layout);
/* y of rails and trunks. */
void layout_rail_heights(Layout *layout);
/* Bars and wires. Needs y of all cards. */
int layout_bars(Layout *layout);
