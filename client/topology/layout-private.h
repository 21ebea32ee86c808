/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two parts of a layout: cards in panels, and what joins them. */
#pragma once

#include "topology/layout.h"

/* Panels, rows and columns; x of everything. */
int layout_place(Layout *layout);
/* Rails and lanes of each row, and trunks; needs x, and gives the rows' lanes. */
int layout_rails(Layout *layout);
/* y of everything. */
void layout_heights(Layout *layout);
/* Bars and wires; needs y. */
int layout_bars(Layout *layout);
/* y of rails and trunks. */
void layout_rail_heights(Layout *layout);
